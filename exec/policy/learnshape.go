// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

const (
	// maxWords is the number of values up to which a rule lists them, instead of stating a shape.
	maxWords = 8
	// maxTests is the number of examples of a rule that become its tests.
	maxTests = 4
)

var digits = names.Form{Chars: "0-9", Min: 1, Max: 18}

// variable returns the element that matches values, which were all approved. A few values are listed. More of them
// become a number of as many digits or, for a command in a sandbox or a container, a path below the workspace.
// On the host no shape is safe for names of files: a file could be a link, and a copy has another name.
func variable(values []string, confined bool) Element {
	all := func(is func(string) bool) bool {
		return !slices.ContainsFunc(values, func(s string) bool { return !is(s) })
	}
	switch {
	case len(values) > maxWords && all(digits.Matches):
		if t, err := ParseToken(numberPattern(values), false); err == nil {
			return Element{Kind: Re, Token: t}
		}
	case len(values) > maxWords && confined && all(namesFile):
		return Element{Kind: Path, Min: 1, Max: 1, Type: TypeAny, Snapshot: SnapshotNone}
	}
	return Element{Kind: Any, Words: slices.Sorted(slices.Values(values))}
}

// numberPattern returns the pattern of numbers that have as many digits as values.
func numberPattern(values []string) string {
	low, high := len(values[0]), len(values[0])
	for _, v := range values {
		low, high = min(low, len(v)), max(high, len(v))
	}
	if low == high {
		return fmt.Sprintf("[0-9]{%d}", low)
	}
	return fmt.Sprintf("[0-9]{%d,%d}", low, high)
}

// namesFile reports whether s looks like a relative path of a file below the working directory.
func namesFile(s string) bool {
	return strings.ContainsAny(s, "/.") && !strings.ContainsAny(s, ":=@*?") && !namesOutsidePath(s, atValue)
}

// matches reports whether r matches args, which do not include the name of the command.
func (r *Rule) matches(args []string) bool {
	m := matcher{args: args, stepsLeft: maxSteps}
	return m.match(r)
}

// addTests adds arguments to the tests of r that it must not match: denied requests of command, and approved
// arguments with a change.
func (r *Rule) addTests(command string, denied [][]string) {
	add := func(args []string) {
		known := slices.ContainsFunc(r.MustNotMatch, func(have []string) bool { return slices.Equal(have, args) })
		if len(r.MustNotMatch) < maxTests && !known && !r.matches(args) {
			r.MustNotMatch = append(r.MustNotMatch, args)
		}
	}
	first := r.MustMatch[0]
	for i, e := range r.Argv {
		if e.Kind != Word {
			add(slices.Concat(first[:i], []string{"-" + first[i]}, first[i+1:]))
		}
	}
	for _, args := range denied {
		if args[0] == command {
			add(args[1:])
		}
	}
	add(append(slices.Clone(first), "more"))
}
