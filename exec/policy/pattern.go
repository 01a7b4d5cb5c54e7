// SPDX-License-Identifier: Apache-2.0

package policy

import "regexp"

// Pattern is one entry of the lists auto_approve and manual_approve: a regular expression
// that is looked for in the whole command line as Line has it. Its zero value matches
// nothing.
type Pattern struct {
	Source   string
	Where    string // file:line, for people
	Anywhere bool   // lines that it matches may name paths outside of the workspace
	re       *regexp.Regexp
}

// ParsePattern compiles an entry of the lists. It is not anchored: that is for who writes
// it, and Lint says where it is missing.
func ParsePattern(source string) (Pattern, error) {
	if err := checkPattern(source); err != nil {
		return Pattern{}, err
	}
	re, err := regexp.Compile(source)
	return Pattern{Source: source, re: re}, err
}

// trusted reports whether the person who wrote p has named the paths of the lines that it
// matches: p says that they may be any, or leaves no choice.
func (p Pattern) trusted() bool { return p.Anywhere || !open(p.Source) }

// maxLine is how long a command line the lists look at. It is what a person is shown, too.
const maxLine = 64 << 10

// line returns the command line that the lists look at, if they look at this one at all:
// control characters and other than ASCII never match.
func line(args []string) (string, bool) {
	n := 0
	for _, a := range args {
		n += len(a) + 1
		if n > maxLine || !ascii(a) {
			return "", false
		}
	}
	return Line(args), true
}

// first returns the first of list that matches line.
func (d *decision) first(list []Pattern, line string) (Pattern, bool) {
	for _, p := range list {
		if !d.m.spend(cost(line)) {
			break
		}
		if p.re != nil && p.re.MatchString(line) {
			return p, true
		}
	}
	return Pattern{}, false
}
