// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Problem is an error or a warning about a policy.
type Problem struct {
	Position string // file:line
	Rule     string
	Text     string
	Fatal    bool // an error in policy check, not a warning
}

func (p Problem) String() string {
	text := p.Text
	if p.Rule != "" {
		text = p.Rule + ": " + text
	}
	if p.Position != "" {
		text = p.Position + ": " + text
	}
	return text
}

// Tested is the outcome of one test that a rule contains.
type Tested struct {
	Rule     string
	Position string
	Args     []string // with the name of the command
	Want     bool     // whether the rule has to match
	Why      string   // why it failed; empty: it passed
}

// RunTests runs the tests of all rules: arguments that a rule must match, and arguments that it
// must not.
func (p *Policy) RunTests() (all []Tested) {
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		set := p.Rules[name]
		for _, r := range set.all() {
			all = append(all, r.runTests(name)...)
		}
	}
	return all
}

func (r *Rule) runTests(command string) (all []Tested) {
	if !r.ready {
		return nil
	}
	for _, list := range []struct {
		of   [][]string
		want bool
	}{{r.MustMatch, true}, {r.MustNotMatch, false}} {
		for _, args := range list.of {
			m := matcher{args: args, stepsLeft: maxSteps}
			t := Tested{Rule: r.Title(command), Position: r.Position, Args: append([]string{command}, args...), Want: list.want}
			switch got := m.match(r); {
			case got && !list.want:
				t.Why = "matches, and must not"
			case !got && list.want:
				t.Why = m.why()
			case m.exhausted:
				t.Why = reasonTooMuch
			}
			all = append(all, t)
		}
	}
	return all
}

// failures returns the failed tests as problems.
func (p *Policy) failures() (all []Problem) {
	for _, t := range p.RunTests() {
		if t.Why != "" {
			all = append(all, Problem{Position: t.Position, Rule: t.Rule, Text: fmt.Sprintf("its own test fails: %s: %s", CommandLine(t.Args), t.Why), Fatal: true})
		}
	}
	return all
}

// SortProblems sorts problems by file and line.
func SortProblems(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int { return comparePositions(a.Position, b.Position) })
}

func comparePositions(a, b string) int {
	fa, la := splitPosition(a)
	fb, lb := splitPosition(b)
	return cmp.Or(cmp.Compare(fa, fb), cmp.Compare(la, lb))
}

func splitPosition(s string) (file string, line int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0
	}
	line, _ = strconv.Atoi(s[i+1:])
	return s[:i], line
}
