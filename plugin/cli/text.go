// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
)

// Ellipsis returns text, shortened to n characters including the dots. docker's own function uses a character
// that is not ASCII.
func Ellipsis(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}

// Count returns n and the noun, which is in the plural unless n is 1.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
