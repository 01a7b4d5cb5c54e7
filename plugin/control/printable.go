// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Unquoted is the inverse of names.Printable. It also reports whether shown was quoted.
func Unquoted(shown string) (text string, quoted bool) {
	if !strings.HasPrefix(shown, `"`) {
		return shown, false
	}
	text, err := strconv.Unquote(shown)
	if err != nil { // a list may cut a long text before its closing quote
		return shown, false
	}
	return text, true
}

// CommandLine returns the command line for a POSIX shell. The arguments have the form of names.Printable.
func CommandLine(shown []string) string {
	args := make([]string, len(shown))
	for i, arg := range shown {
		args[i], _ = Unquoted(arg)
	}
	return policy.CommandLine(args)
}
