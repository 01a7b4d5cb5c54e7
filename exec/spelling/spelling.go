// SPDX-License-Identifier: Apache-2.0

// Package spelling says what names, ids and the like may look like. It does little of what
// regular expressions do, and takes no memory: a watcher is there all day, and those of all
// rooms, which it would have from its start, were a third of what it had.
package spelling

import "math"

// Unbounded is the Max of a word that may be as long as it likes.
const Unbounded = math.MaxInt

// Form is the form of a word: of which characters it is, and how many. The zero value is
// that of the empty word alone.
type Form struct {
	First    string // characters that it may begin with, as Of; empty: any of Of
	Of       string // characters that it may have: ASCII, and ranges of it: a-z. A - at the end is one
	Min, Max int    // how many
}

// Container is the form of a container's name: a name that the engine accepts, and that is short
// enough for a file name with a suffix.
var Container = Form{First: "A-Za-z0-9", Of: "A-Za-z0-9_.-", Min: 1, Max: 201}

// Matches reports whether s has the form f.
func (f Form) Matches(s string) bool {
	if len(s) < f.Min || len(s) > f.Max {
		return false
	}
	if s != "" && f.First != "" && !in(f.First, s[0]) {
		return false
	}
	for i := range len(s) {
		if !in(f.Of, s[i]) {
			return false
		}
	}
	return true
}

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
