// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
)

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
