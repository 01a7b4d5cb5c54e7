// SPDX-License-Identifier: Apache-2.0

package policy

import "regexp"

// LinePattern is one entry of the lists auto_approve and manual_approve. It is a regular expression
// that is searched in the whole command line as CommandLine returns it. The zero value matches nothing.
type LinePattern struct {
	Source   string
	Position string // file:line, for people
	Anywhere bool   // the lines that it matches may name paths outside of the workspace
	re       *regexp.Regexp
}

// ParseLinePattern compiles an entry of the lists. It adds no anchors; Lint reports patterns without
// them.
func ParseLinePattern(source string) (LinePattern, error) {
	if err := checkPattern(source); err != nil {
		return LinePattern{}, err
	}
	re, err := regexp.Compile(source)
	return LinePattern{Source: source, re: re}, err
}

// trusted reports whether the author of p accepted the paths of the lines that it matches: p has
// Anywhere set, or it leaves no choice.
func (p LinePattern) trusted() bool { return p.Anywhere || !leavesChoice(p.Source) }

// maxLine is the maximum length in bytes of a command line that the lists match and that a person
// is shown.
const maxLine = 64 << 10

// line returns the command line that the lists match. It reports false if no list may match the
// line: lines with control characters or characters other than ASCII never match.
func line(args []string) (string, bool) {
	n := 0
	for _, a := range args {
		n += len(a) + 1
		if n > maxLine || !ascii(a) {
			return "", false
		}
	}
	return CommandLine(args), true
}

// first returns the first pattern of list that matches line.
func (d *decision) first(list []LinePattern, line string) (LinePattern, bool) {
	for _, p := range list {
		if !d.m.useStep(cost(line)) {
			break
		}
		if p.re != nil && p.re.MatchString(line) {
			return p, true
		}
	}
	return LinePattern{}, false
}
