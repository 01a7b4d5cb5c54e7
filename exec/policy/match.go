// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// Limits of the cost of one decision. A request that exceeds them is denied, because a caller may
// send such arguments to avoid a match.
const (
	maxSteps = 131072 // an element tried on an argument is one step, as are each 64 bytes that a pattern reads
	MaxArgs  = 4096   // arguments that rules match
)

// cost returns the number of steps of matching a pattern against s.
func cost(s string) int { return 1 + len(s)/64 }

// matcher matches the arguments of one request against any number of rules.
type matcher struct {
	args      []string // without the name of the command
	stepsLeft int      // steps that remain
	exhausted bool     // no match can be decided: the steps are used up, there are too many arguments, or a rule is not compiled

	argv   []Element // of the current rule
	ends   []int     // the end of each element, after a match
	failed []uint64  // one bit for each (element, argument) from which no match is possible

	furthest       int   // the furthest argument at which elements failed
	failedElements []int // the elements that failed there
}

func (m *matcher) useStep(n int) bool {
	if m.stepsLeft < n {
		m.stepsLeft, m.exhausted = 0, true
		return false
	}
	m.stepsLeft -= n
	return true
}

// match reports whether r matches all of the arguments.
func (m *matcher) match(r *Rule) bool {
	m.furthest, m.failedElements = 0, m.failedElements[:0]
	if !r.ready || len(m.args) > MaxArgs {
		m.exhausted = true
		return false
	}
	if r.AnyArgs {
		return m.useStep(1)
	}
	m.argv = r.Argv
	m.ends = slices.Grow(m.ends[:0], len(m.argv))[:len(m.argv)]
	words := ((len(m.argv)+1)*(len(m.args)+1) + 63) / 64
	m.failed = slices.Grow(m.failed[:0], words)[:words]
	clear(m.failed)
	return m.from(0, 0)
}

// from reports whether all elements from i on match all arguments from j on. It does not retry a
// pair that failed. So the work is at most elements times arguments times the arguments of one
// element.
func (m *matcher) from(i, j int) bool {
	bit := i*(len(m.args)+1) + j
	if m.failed[bit/64]&(1<<(bit%64)) != 0 || !m.useStep(1) {
		return false
	}
	if m.try(i, j) {
		return true
	}
	m.failed[bit/64] |= 1 << (bit % 64)
	return false
}

func (m *matcher) try(i, j int) bool {
	if i == len(m.argv) {
		if j == len(m.args) {
			return true
		}
		m.note(i, j)
		return false
	}
	e := &m.argv[i]
	switch e.Kind {
	case KindInsert:
		return m.next(i, j)
	case KindOptions:
		n := m.option(e, j)
		if n == 0 {
			m.note(i, j)
		}
		return n > 0 && m.from(i, j+n) || m.next(i, j)
	case KindArgs, KindPath:
		return m.several(i, j)
	}
	if j < len(m.args) && m.fits(e, m.args[j]) {
		return m.next(i, j+1)
	}
	m.note(i, j)
	return false
}

// next continues after element i, which ended before argument j.
func (m *matcher) next(i, j int) bool {
	if !m.from(i+1, j) {
		return false
	}
	m.ends[i] = j
	return true
}

func (m *matcher) several(i, j int) bool {
	e := &m.argv[i]
	for n := 0; ; n++ {
		if n >= e.Min && m.next(i, j+n) {
			return true
		}
		if n == e.Max || m.exhausted {
			return false
		}
		if j+n == len(m.args) || !m.fits(e, m.args[j+n]) {
			m.note(i, j+n)
			return false
		}
	}
}

// option returns the number of arguments of the option at j, or 0 if it is not an option of e.
func (m *matcher) option(e *Element, j int) int {
	if j == len(m.args) || !strings.HasPrefix(m.args[j], "-") {
		return 0
	}
	a := m.args[j]
	if slices.Contains(e.Flags, a) {
		return 1
	}
	name, inline, given := strings.Cut(a, "=")
	for _, o := range e.Opts {
		switch {
		case o.Name == a:
			if j+1 < len(m.args) && m.value(o, m.args[j+1]) {
				return 2
			}
		case given && o.Name == name && len(name) > 2: // getopt(3) parses -n=5 as -n with the value =5
			if m.value(o, inline) {
				return 1
			}
		}
	}
	return 0
}

// value reports whether s can be the value of o. A text that begins with - cannot.
func (m *matcher) value(o Opt, s string) bool {
	return !strings.HasPrefix(s, "-") && m.useStep(cost(s)) && o.Value.match(s)
}

// fits reports whether e matches the single argument a. Before a literal --, a text that begins
// with - is an option, and only an element that spells it out matches it.
func (m *matcher) fits(e *Element, a string) bool {
	if !m.useStep(1) {
		return false
	}
	switch e.Kind {
	case KindWord, KindAny:
		return slices.Contains(e.Words, a)
	case KindRegexp, KindArgs:
		if strings.HasPrefix(a, "-") && !e.afterDashDash && !(e.Kind == KindRegexp && e.Pattern.dashed) {
			return false
		}
		return m.useStep(cost(a)) && e.Pattern.match(a)
	case KindPath: // no leading -, even after --: the caller can write ./-x
		return a != "" && a[0] != '-' && ascii(a)
	}
	return false
}

// note records that element i failed on argument j, unless an element failed at a later argument.
func (m *matcher) note(i, j int) {
	if j > m.furthest || len(m.failedElements) == 0 {
		m.furthest, m.failedElements = j, m.failedElements[:0]
	}
	if j == m.furthest && len(m.failedElements) < maxElements && !slices.Contains(m.failedElements, i) {
		m.failedElements = append(m.failedElements, i)
	}
}

// build returns the arguments that r runs after a match, appended to before. paths lists the
// arguments whose paths need a check.
func (m *matcher) build(r *Rule, before []string) (args []string, paths []PathCheck) {
	args = slices.Clone(before)
	at := 0
	for i := range r.Argv {
		if r.AnyArgs {
			break
		}
		e := &r.Argv[i]
		if e.Kind == KindInsert {
			args = append(args, e.Words...)
		}
		for ; at < m.ends[i]; at++ {
			if e.Kind == KindPath {
				paths = append(paths, PathCheck{Index: len(args), Type: e.Type, Snapshot: e.Snapshot})
			}
			args = append(args, m.args[at])
		}
	}
	if r.Fixed != nil {
		return append(slices.Clone(before[:1]), r.Fixed...), nil
	}
	return args, paths
}
