// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// CommandLine returns args quoted for a POSIX shell, in printable ASCII only. List patterns match this line, and people
// read it. Different args give different lines.
func CommandLine(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if ascii(a) {
			b.WriteString(shellescape.Quote(a))
		} else {
			quoteDollar(&b, a)
		}
	}
	return b.String()
}

// quoteDollar writes s in dollar-single-quotes (POSIX.1-2024, 2.2.4). Most bytes that are not printable become three
// octal digits, because a hexadecimal escape would include a digit that follows.
func quoteDollar(b *strings.Builder, s string) {
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
}
