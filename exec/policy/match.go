// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// What one decision may cost. A request over it is denied: who sends arguments that are
// hard to match wants them not to be.
const (
	MaxSteps = 131072 // elements tried on arguments, and each 64 bytes that a pattern reads
	MaxArgs  = 4096   // arguments that rules look at
)

// cost is what matching a pattern against s counts.
func cost(s string) int { return 1 + len(s)/64 }

// matcher matches the arguments of one request against any number of rules.
type matcher struct {
	args []string // without the command's name
	left int      // steps
	over bool     // there were too few

	argv   []Element // of the rule
	ends   []int     // where each element ended, after a match
	failed []uint64  // a bit for each (element, argument) from where nothing matches

	far   int   // the furthest argument at which elements failed
	tried []int // those elements
}

func (m *matcher) spend(n int) bool {
	if m.left < n {
		m.left, m.over = 0, true
		return false
	}
	m.left -= n
	return true
}

// match reports whether r matches all of the arguments.
func (m *matcher) match(r *Rule) bool {
	m.far, m.tried = 0, m.tried[:0]
	if !r.ready || len(m.args) > MaxArgs {
		m.over = true
		return false
	}
	if r.Always {
		return m.spend(1)
	}
	m.argv = r.Argv
	m.ends = slices.Grow(m.ends[:0], len(m.argv))[:len(m.argv)]
	words := ((len(m.argv)+1)*(len(m.args)+1) + 63) / 64
	m.failed = slices.Grow(m.failed[:0], words)[:words]
	clear(m.failed)
	return m.from(0, 0)
}

// from reports whether the elements from i on match the arguments from j on, all of both.
// What failed once is not tried again, so the work is bounded by elements times arguments
// times the arguments that one element may take.
func (m *matcher) from(i, j int) bool {
	bit := i*(len(m.args)+1) + j
	if m.failed[bit/64]&(1<<(bit%64)) != 0 || !m.spend(1) {
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
	case Insert:
		return m.next(i, j)
	case Options:
		n := m.option(e, j)
		if n == 0 {
			m.note(i, j)
		}
		return n > 0 && m.from(i, j+n) || m.next(i, j)
	case Args, Path:
		return m.several(i, j)
	}
	if j < len(m.args) && m.fits(e, m.args[j]) {
		return m.next(i, j+1)
	}
	m.note(i, j)
	return false
}

// next goes on after element i, which ended before argument j.
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
		if n == e.Max || m.over {
			return false
		}
		if j+n == len(m.args) || !m.fits(e, m.args[j+n]) {
			m.note(i, j+n)
			return false
		}
	}
}

// option returns how many arguments the option at j has, or 0 if it is none of e's.
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
		case given && o.Name == name && len(name) > 2: // -n=5 has the value =5, to getopt(3)
			if m.value(o, inline) {
				return 1
			}
		}
	}
	return 0
}

// value reports whether s can be the value of o. An option cannot.
func (m *matcher) value(o Opt, s string) bool {
	return !strings.HasPrefix(s, "-") && m.spend(cost(s)) && o.Value.match(s)
}

// fits reports whether a is one argument that e stands for. What begins with - is an option
// until a -- came, and only what spells it out stands for an option.
func (m *matcher) fits(e *Element, a string) bool {
	if !m.spend(1) {
		return false
	}
	switch e.Kind {
	case Word, Any:
		return slices.Contains(e.Words, a)
	case Re, Args:
		if strings.HasPrefix(a, "-") && !e.loose && !(e.Kind == Re && e.Token.dashed) {
			return false
		}
		return m.spend(cost(a)) && e.Token.match(a)
	case Path: // not even behind --, for ./-x is the same file
		return a != "" && a[0] != '-' && ascii(a)
	}
	return false
}

// note remembers that element i failed on argument j, if none failed later.
func (m *matcher) note(i, j int) {
	if j > m.far || len(m.tried) == 0 {
		m.far, m.tried = j, m.tried[:0]
	}
	if j == m.far && len(m.tried) < maxElements && !slices.Contains(m.tried, i) {
		m.tried = append(m.tried, i)
	}
}

// build returns what r runs, after a match, behind what comes before, and which of it are
// paths to be checked.
func (m *matcher) build(r *Rule, before []string) (args []string, paths []PathCheck) {
	args = slices.Clone(before)
	at := 0
	for i := range r.Argv {
		if r.Always {
			break
		}
		e := &r.Argv[i]
		if e.Kind == Insert {
			args = append(args, e.Words...)
		}
		for ; at < m.ends[i]; at++ {
			if e.Kind == Path {
				paths = append(paths, PathCheck{Index: len(args), Root: "ws", Type: e.Type, Snapshot: e.Snapshot})
			}
			args = append(args, m.args[at])
		}
	}
	if r.Fixed != nil {
		return append(slices.Clone(before[:1]), r.Fixed...), nil
	}
	return args, paths
}
