// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Printable shows s as questions are shown: as it is if that is printable ASCII, and quoted
// otherwise, so that two that differ look different.
func Printable(s string) string { return printable(s) }

// PrintableArgs is Printable of each of args.
func PrintableArgs(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		shown[i] = printable(arg)
	}
	return shown
}

// Unquoted returns the text that is shown as shown, and whether shown is quoted as in Go.
func Unquoted(shown string) (text string, quoted bool) {
	if !strings.HasPrefix(shown, `"`) {
		return shown, false
	}
	text, err := strconv.Unquote(shown)
	if err != nil { // a list has only the beginning of a long text
		return shown, false
	}
	return text, true
}

// Line returns a command line for a POSIX shell. It takes the arguments as they are shown.
func Line(shown []string) string {
	args := make([]string, len(shown))
	for i, arg := range shown {
		args[i], _ = Unquoted(arg)
	}
	return policy.Line(args)
}
