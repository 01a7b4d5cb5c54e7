// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

var envForm = names.Form{First: "A-Za-z_", Chars: "A-Za-z0-9_", Min: 1, Max: names.Unbounded}

// EnvNameError is the error of an invalid name of a variable.
type EnvNameError struct{ Name string }

func (e *EnvNameError) Error() string {
	q := strconv.QuoteToASCII(e.Name)
	return "Invalid environment variable name: " + q[1:len(q)-1]
}

// CheckEnv checks that each of env is NAME=value.
func CheckEnv(env []string) error {
	for _, kv := range env {
		if name, _, ok := strings.Cut(kv, "="); !ok || !envForm.Matches(name) {
			return &EnvNameError{name}
		}
	}
	return nil
}

// unsafeVariables are variables that make a non-interactive shell end, hang, or run a file.
var unsafeVariables = []string{"BASHOPTS", "BASH_ENV", "BASH_XTRACEFD", "ENV", "HISTFILE", "IGNOREEOF", "MAIL", "MAILCHECK", "MAILPATH",
	"OLDPWD", "POSIXLY_CORRECT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "SHELLOPTS", "TMOUT"}

// environ returns the environment of a shell: base without unsafe variables, and set.
func environ(base, set []string) []string {
	env := make([]string, 0, len(base)+len(set))
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		over := slices.ContainsFunc(set, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if !over && !slices.Contains(unsafeVariables, name) {
			env = append(env, kv)
		}
	}
	return append(env, set...)
}

// containerEnviron is the environment that a shell in this container is started with: this process's own, with
// set.
func containerEnviron(set []string) []string { return environ(os.Environ(), set) }
