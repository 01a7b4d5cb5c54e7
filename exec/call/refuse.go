// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// What a caller is told when its command does not run: one line that says why, by which
// rule, for which request, and what to type next. All of it is printable ASCII.

// Line renders one line for the shim's stderr.
func Line(format string, a ...any) string { return "hostexec: " + fmt.Sprintf(format, a...) + "\n" }

// quoteWord shows a word of the container's: as it is when it could be the name of a
// command, quoted otherwise.
func quoteWord(s string) string {
	if policy.ValidName(s) {
		return s
	}
	if len(s) > 80 {
		return strconv.QuoteToASCII(s[:80]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// refusal answers a request that v denies.
func refusal(sc *SessionState, req *request, v policy.Verdict, verbs []string) Failure {
	e := Failure{Status: StatusNotProxied, Name: quoteWord(req.Args[0]), Reason: names.Plain(v.Reason), Rule: v.Rule, Request: req.ID}
	switch {
	case req.Args[0] == policy.Shell && !v.Known():
		e.Hint = "to allow shells, start " + sc.start() + " --proxy-shell on the host"
	case v.Rule == policy.RuleBroken:
		e.Status = StatusRefused
	case v.Known() && v.Rule == "" && req.Args[0] != policy.Shell: // nothing forbids it
		e.Status, e.Hint = StatusRefused, fmt.Sprintf("docker hostexec policy explain -- %s ... on the host tells why; to be asked for it from now on, %s there", e.Name, policyAdd(req.Args))
	case v.Known() && !strings.HasPrefix(v.Rule, "--proxy "):
		e.Status, e.Hint = StatusRefused, fmt.Sprintf("docker hostexec policy explain -- %s ... on the host tells why", e.Name)
	case v.Known():
		e.Status, e.Hint = StatusRefused, fmt.Sprintf("to allow it, start %s --proxy %s on the host", sc.start(), e.Name)
	case policy.ValidName(req.Args[0]) && req.Args[0] != Name: // which run would refuse to proxy
		e.Hint = fmt.Sprintf("hostexec ls shows what is; to add it now, %s on the host, or start %s --proxy %s there", policyAdd(req.Args), sc.start(), e.Name)
		if near := names.Near(req.Args[0], append(sc.Policy.Names(), verbs...)); near != "" {
			e.Hint = "did you mean hostexec " + near + "? " + e.Hint
		}
	default:
		e.Hint = "hostexec ls shows the commands there are"
	}
	return e
}

// plainWord is the form of a word that every shell takes as it is. zsh expands one that begins with =.
var plainWord = names.Form{First: "A-Za-z0-9_@%+:,./-", Chars: "A-Za-z0-9_@%+=:,./-", Min: 1, Max: 64}

// policyAdd returns the command that adds a rule that asks about args. A person may copy it, so
// arguments are shown only if they need no quotes.
func policyAdd(args []string) string {
	const add = "docker hostexec policy add --ask -- "
	if len(args) > 12 || slices.ContainsFunc(args, func(a string) bool { return !plainWord.Matches(a) }) {
		return add + quoteWord(args[0]) + " ..."
	}
	return add + strings.Join(args, " ")
}

// start is what to type for a session such as this one, but for its flags.
func (sc *SessionState) start() string {
	if sc.Agent != "" {
		return "the agent with docker hostexec agent"
	}
	return "the container with docker hostexec run"
}

// cannotRun answers a request that the policy would have let through, had it been able to run.
func cannotRun(req *request, v policy.Verdict, err error) Failure {
	if errors.Is(err, errCallerDeadline) {
		return callerDeadlineExceeded(req, v.Rule)
	}
	e := Failure{Status: StatusRefused, Name: quoteWord(req.Args[0]), Reason: names.Plain(err.Error()), Rule: v.Rule, Request: req.ID}
	if errors.Is(err, fs.ErrNotExist) {
		e.Status = StatusNotFound
	}
	return e
}

// tooLong answers a request whose command the policy's timeout has ended.
func tooLong(req *request, v policy.Verdict) Failure {
	return Failure{Status: StatusTimeout, Name: quoteWord(req.Args[0]), Rule: v.Rule, Request: req.ID,
		Reason: fmt.Sprintf("ended after %s, which is all that %s gives it", v.Timeout, v.Rule)}
}

// outputLimitExceeded ends a call whose command wrote more than the policy lets through.
func outputLimitExceeded(req *request, v policy.Verdict) Failure {
	return Failure{Status: StatusFailed, Name: quoteWord(req.Args[0]), Rule: v.Rule, Request: req.ID,
		Reason: fmt.Sprintf("the output was cut after %d bytes, which is all that %s gives it", v.Profile.Output, v.Rule)}
}

// notRun answers a request whose command could not be started.
func notRun(req *request, v policy.Verdict, err error) Failure {
	e := Failure{Name: quoteWord(req.Args[0]), Rule: v.Rule, Request: req.ID}
	var hint interface{ Hint() string }
	switch path := strconv.QuoteToASCII(v.Command.Path); {
	case errors.As(err, &hint):
		e.Status, e.Reason, e.Hint = StatusFailed, names.Plain(err.Error()), names.Plain(hint.Hint())
	case v.Place.Contained() && errors.Is(err, fs.ErrNotExist):
		e.Status, e.Reason, e.Hint = StatusNotFound, "not found in "+v.Program(), "path= of --proxy, or exec: of the configuration, says where it is in the image"
	case v.Place.Contained() && errors.Is(err, fs.ErrPermission):
		e.Status, e.Reason, e.Hint = StatusNotExecutable, "not executable in "+v.Program(), "look at its mode in the image"
	case errors.Is(err, fs.ErrNotExist):
		e.Status, e.Reason, e.Hint = StatusNotFound, "not found on the host any more", "look for "+path+" there"
	case errors.Is(err, fs.ErrPermission):
		e.Status, e.Reason, e.Hint = StatusNotExecutable, "not executable on the host", "look at the mode of "+path+" there"
	default:
		e.Status, e.Reason, e.Hint = StatusFailed, "could not be run: "+names.Plain(err.Error()), logsHint
	}
	return e
}

const logsHint = "docker hostexec logs on the host may tell more"

// Failed answers a request that hostexec itself could not serve.
func Failed(why string) Failure { return Failure{Status: StatusFailed, Reason: why, Hint: logsHint} }

// badRequest answers what was not a request.
func badRequest(err error, version string) Failure {
	if errors.Is(err, wire.ErrVersion) {
		return Failure{Status: StatusFailed, Hint: "docker hostexec resume on the host renews the shim",
			Reason: fmt.Sprintf("this shim and the host's hostexec %s speak different versions of the protocol", version)}
	}
	return Failure{Status: StatusFailed, Reason: fmt.Sprintf("not a request: %v", err)}
}
