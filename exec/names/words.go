// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"sync"
)

// WordSet returns a function that reports whether a word is in s, a list separated by white space.
// The set is built at the first use, so that programs start faster.
func WordSet(s string) func(word string) bool {
	set := sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(s) {
			set[w] = true
		}
		return set
	})
	return func(word string) bool { return set()[word] }
}

// LowerWordSet is WordSet for the words of s in lower case.
func LowerWordSet(s string) func(word string) bool {
	set := sync.OnceValue(func() func(string) bool { return WordSet(strings.ToLower(s)) })
	return func(word string) bool { return set()(word) }
}
