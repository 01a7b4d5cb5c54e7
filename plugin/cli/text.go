// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Quoted returns what a user typed in printable ASCII, whatever it is.
func Quoted(s string) string { return names.Quoted(s) }

// Printable returns s with what a terminal would obey escaped.
func Printable(s string) string {
	q := strconv.QuoteToASCII(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

// Ellipsis returns text, or the beginning of a longer one, so that it has n characters with the dots. Docker's own
// is one character that is no ASCII.
func Ellipsis(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}

// Count returns n and what, in the plural unless n is 1.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
