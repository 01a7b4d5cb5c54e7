// SPDX-License-Identifier: Apache-2.0

package names

import (
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
