// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"strings"
	"sync"
)

// Words returns a function that reports whether a word is one of those in s, which are separated
// by white space. The set is made at the first use: a program starts faster without it.
func Words(s string) func(word string) bool {
	set := sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(s) {
			set[w] = true
		}
		return set
	})
	return func(word string) bool { return set()[word] }
}
