// SPDX-License-Identifier: Apache-2.0

// Package names checks and shows untrusted texts: the permitted forms of names and ids, strict JSON, and texts in
// printable ASCII. It also has small functions for words, ids and paths.
//
// Form supports a small part of regular expressions without allocating memory. Compiled regular expressions took a
// third of the memory of a watcher, which runs all day.
package names

import "math"

// Unbounded is the Max of a word without a maximum length.
const Unbounded = math.MaxInt

// Form is the form of a word: its permitted characters and its length. The zero value matches only
// the empty word.
type Form struct {
	First    string // permitted first characters, in the notation of Chars; empty: those of Chars
	Chars    string // permitted characters: ASCII characters and ranges such as a-z. A - at the end is literal
	Min, Max int    // length in bytes
}

// Container is the form of a container's name. The engine accepts such a name of two or more characters. The name with
// a suffix is a valid file name.
var Container = Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9_.-", Min: 1, Max: 201}

// Matches reports whether s has the form f.
func (f Form) Matches(s string) bool {
	if len(s) < f.Min || len(s) > f.Max {
		return false
	}
	if s != "" && f.First != "" && !in(f.First, s[0]) {
		return false
	}
	for i := range len(s) {
		if !in(f.Chars, s[i]) {
			return false
		}
	}
	return true
}

var digits = Form{Chars: "0-9", Min: 1, Max: 9}

// IsNumber reports whether s is a decimal number of at most nine digits without leading zeros, which some programs read
// as octal.
func IsNumber(s string) bool { return digits.Matches(s) && (s == "0" || s[0] != '0') }

func in(class string, c byte) bool {
	for i := 0; i < len(class); i++ {
		last := class[i]
		first := last
		if i+2 < len(class) && class[i+1] == '-' {
			i += 2
			last = class[i]
		}
		if first <= c && c <= last {
			return true
		}
	}
	return false
}
