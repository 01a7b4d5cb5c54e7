// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strconv"
	"strings"
)

// Quoted returns s for use in a message. It is unchanged if it is one word of printable ASCII without double quotes and
// backslashes. Otherwise it is in double quotes, as in Go.
func Quoted(s string) string {
	if s == "" || strings.Contains(s, " ") {
		return strconv.QuoteToASCII(s)
	}
	return Printable(s)
}

// Printable returns s unchanged if it is printable ASCII without double quotes and backslashes, and otherwise in double
// quotes, as in Go. Different texts have different results.
func Printable(s string) string {
	if q := strconv.QuoteToASCII(s); len(q) != len(s)+2 {
		return q
	}
	return s
}

// Plain returns s for use in a message: unchanged if every byte is printable ASCII, quotes included, and
// otherwise in double quotes, as in Go.
func Plain(s string) string {
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// PlainLine returns a line of a text for a person: unchanged if it has only printable ASCII and tabs, and otherwise
// quoted as in Go.
func PlainLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' }) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

// PrintableArgs returns Printable of each argument.
func PrintableArgs(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		shown[i] = Printable(arg)
	}
	return shown
}

// Escaped returns s without quotes, but with the escape sequences of Go for all characters except
// printable ASCII. Different texts may have the same result.
func Escaped(s string) string {
	q := strconv.QuoteToASCII(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}
