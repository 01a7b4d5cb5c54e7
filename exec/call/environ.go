// SPDX-License-Identifier: Apache-2.0

package call

import (
	"maps"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// terminalVars are the variables that describe the caller's terminal. A container can set these and the
// names of --pass-env, and no others.
var terminalVars = map[string]names.Form{
	"TERM":     {Chars: "A-Za-z0-9._+-", Min: 1, Max: 32}, // a path would name a file of the host
	"COLUMNS":  {Chars: "0-9", Min: 1, Max: 5},
	"LINES":    {Chars: "0-9", Min: 1, Max: 5},
	"NO_COLOR": {Chars: " -~", Max: 32},
}

// cleanVars are the variables of the host that a clean environment starts with.
var cleanVars = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "TMPDIR": true, "TZ": true,
	"LANG": true, "LANGUAGE": true, "LC_ALL": true, "LC_CTYPE": true, "LC_MESSAGES": true, "LC_COLLATE": true,
	"LC_NUMERIC": true, "LC_TIME": true, "LC_MONETARY": true, "XDG_RUNTIME_DIR": true,
}

// environ returns a command's environment. It begins with the host's environment, or the part of it that the policy
// allows. The caller's permitted variables and those of the policy follow. PWD is the held directory.
func environ(host, caller, pass []string, want policy.Env, pwd string) []string {
	set := callerVars(caller, pass)
	maps.Copy(set, want.Set)
	set["PWD"] = pwd
	env := make([]string, 0, len(host)+len(set))
	for _, kv := range host {
		name, _, _ := strings.Cut(kv, "=")
		kept := !want.Clean || cleanVars[name] || slices.Contains(want.Pass, name)
		if _, ok := set[name]; kept && !ok && name != "OLDPWD" {
			env = append(env, kv)
		}
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return env
}

// callerVars returns the permitted variables of the caller. As with getenv(3), the first value of a name
// counts.
func callerVars(caller, pass []string) map[string]string {
	set := map[string]string{}
	for _, kv := range caller {
		name, value, ok := strings.Cut(kv, "=")
		if _, twice := set[name]; !ok || twice {
			continue
		}
		if name == "PATH" { // it decides which programs run, also if a record has --pass-env PATH
			continue
		}
		form, terminal := terminalVars[name]
		if slices.Contains(pass, name) || terminal && form.Matches(value) {
			set[name] = strings.Clone(value) // not a part of the frame
		}
	}
	return set
}

// setEnv sets the variables of --env; the last value of a name counts. It returns why one cannot be set, or
// nil. A command must not run without a variable that its caller named.
func (r *request) setEnv(env, pass []string) *Failure {
	env = slices.Clone(env)
	slices.Reverse(env)
	set := callerVars(env, pass)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := set[name]; ok {
			continue
		}
		e := Failure{Status: StatusRefused, Reason: "--env: the host does not accept " + names.Printable(Truncate(name))}
		switch _, terminal := terminalVars[name]; {
		case terminal:
			e.Reason = "--env: not a valid value of " + name
		case name == "PATH":
			e.Hint = "PATH is never passed on"
		default:
			e.Hint = "docker hostexec run --pass-env NAME on the host accepts NAME"
		}
		return &e
	}
	r.env = append(env, r.env...) // the first one of a name counts
	return nil
}

// passedValues returns notes for the person who decides: the values of passed variables that the container
// has set.
func passedValues(caller, pass []string, want policy.Env) (notes []string) {
	set := callerVars(caller, pass)
	for _, name := range slices.Sorted(slices.Values(pass)) {
		value, isSet := set[name]
		if _, ours := want.Set[name]; isSet && !ours && name != "PWD" {
			notes = append(notes, "the container sets "+name+"="+value)
		}
	}
	return slices.Compact(notes)
}

// wantsJSON reports whether the caller reads how a call ends as JSON.
func wantsJSON(env []string) bool { return osenv.Get(env, "HOSTEXEC_JSON") == "1" }
