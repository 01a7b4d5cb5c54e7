// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

const (
	// maxWords is the number of values up to which a rule lists them, instead of generalizing them.
	maxWords = 8
	// maxListed is the number of values that one rule lists.
	maxListed = 32
	// maxTests is the number of examples of a rule that become its tests.
	maxTests = 4
)

var fileName = names.Form{First: "A-Za-z0-9_", Chars: "A-Za-z0-9._-", Min: 1, Max: 255}

// listed returns the element that matches exactly the values of argument at in calls.
func listed(calls []*Candidate, at int) Element {
	if len(calls) == 1 {
		return Element{Kind: KindWord, Words: []string{calls[0].Args[at]}}
	}
	return Element{Kind: KindAny, Words: slices.Sorted(slices.Values(valuesOf(calls, at)))}
}

func valuesOf(calls []*Candidate, at int) (values []string) {
	for _, c := range calls {
		values = append(values, c.Args[at])
	}
	return values
}

// generalized returns an element that matches further values of argument at. These are numbers with as many digits as
// those of calls, or files below the same directory. It matches files only for a command in a sandbox or a container:
// on the host a file could be replaced by a link. It reports false if there is no such element.
func generalized(calls []*Candidate, at int) (Element, bool) {
	if at == 0 || len(calls) <= maxWords {
		return Element{}, false
	}
	values := valuesOf(calls, at)
	may := func(f Form) bool {
		return !slices.ContainsFunc(calls, func(c *Candidate) bool { return at >= len(c.forms) || !slices.Contains(c.forms[at], f) })
	}
	pattern := ""
	switch {
	case may(FormNumber) && !slices.ContainsFunc(values, func(s string) bool { return !names.IsNumber(s) }):
		pattern = numberPattern(values)
	case may(FormPath) && calls[0].Confined:
		pattern = filePattern(values)
	}
	if pattern == "" {
		return Element{}, false
	}
	t, err := ParseArgPattern(pattern, false)
	return Element{Kind: KindRegexp, Pattern: t}, err == nil // it is too long
}

// numberPattern returns the pattern of numbers that have as many digits as values.
func numberPattern(values []string) string {
	low, high := len(values[0]), len(values[0])
	for _, v := range values {
		low, high = min(low, len(v)), max(high, len(v))
	}
	pattern := fmt.Sprintf("[1-9][0-9]{%d,%d}", low-1, high-1)
	if slices.Contains(values, "0") {
		pattern = "0|" + pattern
	}
	return pattern
}

// filePattern returns the pattern of the files below the directory that values have in common, or "" if there is
// none. No part of a name begins with a dot.
func filePattern(values []string) string {
	common := strings.Split(values[0], "/")
	common = common[:len(common)-1]
	for _, v := range values {
		parts := strings.Split(v, "/")
		if slices.ContainsFunc(parts, func(part string) bool { return !fileName.Matches(part) }) {
			return ""
		}
		n := 0
		for n < min(len(common), len(parts)-1) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) == 0 {
		return ""
	}
	const name = `[A-Za-z0-9_][A-Za-z0-9._-]*`
	return regexp.QuoteMeta(strings.Join(common, "/")) + "(?:/" + name + ")+"
}

// matches reports whether r matches args, which do not include the name of the command.
func (r *Rule) matches(args []string) bool {
	m := matcher{args: args, stepsLeft: maxSteps}
	return m.match(r)
}

// refuse adds arguments that r must not match to the tests of r, a rule of command. These are denied calls, and
// approved arguments with a change.
func (r *Rule) refuse(command string, denied Denials) {
	add := func(args []string) {
		known := slices.ContainsFunc(r.MustNotMatch, func(have []string) bool { return slices.Equal(have, args) })
		if len(r.MustNotMatch) < maxTests && !known && plainCall(args) && !r.matches(args) {
			r.MustNotMatch = append(r.MustNotMatch, args)
		}
	}
	first := r.MustMatch[0]
	for i, e := range r.Argv {
		if e.Kind != KindWord {
			add(slices.Concat(first[:i], []string{"-" + first[i]}, first[i+1:]))
		}
	}
	for _, call := range denied.Calls {
		if call[0] == command {
			add(call[1:])
		}
	}
	add(append(slices.Clone(first), "more"))
}
