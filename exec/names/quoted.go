// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"strconv"
	"strings"
)

// Quoted returns s for use in a message: unchanged if it is one word of printable ASCII, and
// otherwise in double quotes, as in Go.
func Quoted(s string) string {
	if q := strconv.QuoteToASCII(s); s == "" || len(q) != len(s)+2 || strings.Contains(s, " ") {
		return q
	}
	return s
}

// Printable returns s for use in a message or a table: unchanged if it is printable ASCII that
// needs no escapes, and otherwise in double quotes, as in Go. Unlike Quoted, it leaves spaces alone.
func Printable(s string) string {
	ascii := fmt.Sprintf("%+q", s)
	if ascii == `"`+s+`"` {
		return s
	}
	return ascii
}

// Plain returns s for use in a message: unchanged, with its quotes, if every byte is printable ASCII,
// and otherwise in double quotes, as in Go.
func Plain(s string) string {
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}
