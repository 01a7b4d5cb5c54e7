// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"unicode/utf8"
)

// MaxListed is the maximum number of bytes of a command's arguments in a list. A container that
// starts many calls with long arguments must not double their memory.
const MaxListed = 512

// TruncateArgs returns a copy of the beginning of args, at most max bytes long, with a mark if it is cut.
// It reports whether args was cut.
func TruncateArgs(args []string, max int) (list []string, cut bool) {
	left := max
	for i, arg := range args {
		if len(arg) > left {
			return append(list, strings.Clone(arg[:runeEnd(arg, left)])+"..."), true
		}
		list, left = append(list, strings.Clone(arg)), left-len(arg)-1
		if left <= 0 && i < len(args)-1 {
			return append(list, "..."), true
		}
	}
	return list, false
}

// Shorten returns s, or its first n bytes and three dots.
func Shorten(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// runeEnd returns the end of the last complete character in the first n bytes of s.
func runeEnd(s string, n int) int {
	for m := n; m > max(0, n-utf8.UTFMax); m-- {
		if utf8.RuneStart(s[m]) {
			return m
		}
	}
	return n // not UTF-8
}

// WholeRunes returns the length of b without an incomplete character at its end.
func WholeRunes(b []byte) int {
	for n := len(b) - 1; n >= max(0, len(b)-utf8.UTFMax+1); n-- {
		if utf8.RuneStart(b[n]) {
			if utf8.FullRune(b[n:]) {
				break
			}
			return n
		}
	}
	return len(b)
}
