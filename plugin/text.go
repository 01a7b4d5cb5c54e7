// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// quoted returns what a user typed in printable ASCII, whatever it is.
func quoted(s string) string { return spelling.Quoted(s) }

// printable returns s with what a terminal would obey escaped.
func printable(s string) string {
	q := strconv.QuoteToASCII(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

// ellipsis returns text, or the beginning of a longer one, so that it has n characters with the dots. Docker's own
// is one character that is no ASCII.
func ellipsis(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}

// count returns n and what, in the plural unless n is 1.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
