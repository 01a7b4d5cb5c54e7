// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
)

var envForm = names.Form{First: "A-Za-z_", Chars: "A-Za-z0-9_", Min: 1, Max: names.Unbounded}

// EnvNameError is the error of an invalid name of a variable, or of a name without a value.
type EnvNameError struct {
	Name    string
	NoValue bool
}

func (e *EnvNameError) Error() string {
	q := strconv.QuoteToASCII(e.Name)
	text := "Invalid environment variable name: " + q[1:len(q)-1]
	if e.NoValue {
		text += ": want NAME=VALUE"
	}
	return text
}

// CheckEnv checks that each of env is NAME=value.
func CheckEnv(env []string) error {
	for _, kv := range env {
		if name, _, ok := strings.Cut(kv, "="); !ok || !envForm.Matches(name) {
			return &EnvNameError{Name: name, NoValue: !ok}
		}
	}
	return nil
}

// unsafeVariables are variables that make a non-interactive shell end, hang, or run a file.
var unsafeVariables = []string{"BASHOPTS", "BASH_ENV", "BASH_XTRACEFD", "ENV", "HISTFILE", "IGNOREEOF", "MAIL", "MAILCHECK", "MAILPATH",
	"OLDPWD", "POSIXLY_CORRECT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "SHELLOPTS", "TMOUT"}

// environ returns the environment of a shell: base without unsafe variables, and set. It never returns nil, for which
// os/exec uses the environment of this process.
func environ(base, set []string) []string {
	safe := slices.DeleteFunc(append([]string{}, base...), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(unsafeVariables, name)
	})
	return osenv.Set(safe, set...)
}
