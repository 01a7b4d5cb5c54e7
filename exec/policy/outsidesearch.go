// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp/syntax"
	"slices"
)

// escape returns an argument that p matches and that names a path outside of the workspace, if one
// exists. from is the state in which the argument begins. option permits a leading -.
func (p ArgPattern) escape(from scanState, option bool) (example string, found bool) {
	return search(p.Source, from, option, p.unicode)
}

// escape returns a command line that p matches and that names such a path, if one exists.
func (p LinePattern) escape() (example string, found bool) {
	return search(`.*(?:`+p.Source+`).*`, atValue, true, false)
}

// search decides whether a regular expression matches, from its beginning to its end, a text that names a path
// outside of the workspace. It runs the automaton of the expression and the automaton of scanState in parallel over all
// texts, shortest first.
func search(source string, from scanState, option, wide bool) (example string, found bool) {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return "", false // an invalid expression matches nothing
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return "", false
	}
	s := searcher{prog: prog, option: option, wide: wide, seen: map[state]bool{}, runes: map[*rune][]rune{}, left: maxSearch}
	s.add(visit{state: state{uint32(prog.Start), -1, from}, parent: -1})
	for i := 0; i < len(s.visits); i++ {
		if s.follow(i) {
			return s.text(i), true
		}
		if s.left <= 0 { // too complex to search: it counts as matching such a path
			return "", true
		}
	}
	return "", false
}

// maxSearch limits the cost of the search for one pattern.
const maxSearch = 1 << 21

// state is the state of both automata.
type state struct {
	pc   uint32
	last rune // -1 at the beginning; else a representative of the last character's class, for ^, $ and \b
	at   scanState
}

type visit struct {
	state
	r      rune // the character that led to this state
	parent int
}

type searcher struct {
	prog   *syntax.Prog
	option bool
	wide   bool
	visits []visit
	seen   map[state]bool
	runes  map[*rune][]rune // for each set of characters, one character of each class
	stack  []uint32
	marks  []bool
	left   int
}

func (s *searcher) add(v visit) {
	if !s.seen[v.state] {
		s.seen[v.state] = true
		s.visits = append(s.visits, v)
	}
}

// follow adds the states that are reachable from visit i. It reports whether a text that ends at i
// is a result.
func (s *searcher) follow(i int) bool {
	v := s.visits[i]
	for _, next := range []rune{-1, 'a', ' '} {
		for _, pc := range s.instructionsFrom(v.pc, syntax.EmptyOpContext(v.last, next)) {
			inst := &s.prog.Inst[pc]
			if next < 0 {
				if inst.Op == syntax.InstMatch && v.at.end() {
					return true
				}
				continue
			}
			for _, r := range s.classes(inst) {
				if wordRune(r) != (next == 'a') || r == '-' && v.last < 0 && !s.option {
					continue
				}
				s.add(visit{state{inst.Out, next, v.at.next(r)}, r, i})
			}
		}
	}
	return false
}

// instructionsFrom returns the instructions reachable from pc that read a character or end the match.
func (s *searcher) instructionsFrom(pc uint32, holds syntax.EmptyOp) (all []uint32) {
	if s.marks == nil {
		s.marks = make([]bool, len(s.prog.Inst))
	}
	s.stack = append(s.stack[:0], pc)
	var marked []uint32
	for len(s.stack) > 0 {
		pc := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if s.marks[pc] {
			continue
		}
		s.marks[pc] = true
		marked = append(marked, pc)
		switch inst := &s.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			s.stack = append(s.stack, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			s.stack = append(s.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^holds == 0 {
				s.stack = append(s.stack, inst.Out)
			}
		case syntax.InstFail:
		default:
			all = append(all, pc)
		}
	}
	for _, pc := range marked {
		s.marks[pc] = false
	}
	s.left -= len(marked)
	return all
}

// alphabet holds all printable ASCII characters. The characters that make the best examples come
// first.
var alphabet = func() (all []rune) {
	for _, r := range "ax01=^/~.-:htps '\"\\" {
		all = append(all, r)
	}
	for r := ' '; r <= '~'; r++ {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}()

// class returns a representative of the characters that every scanState treats like r.
func class(r rune) rune {
	switch {
	case r > '~':
		return '^'
	case separates(r) && r != ':' && r != ' ' && r != '\'' && r != '"':
		return '='
	case r == ')' || r == ']' || r == '}':
		return '^'
	case wordRune(r) && r != 'h' && r != 't' && r != 'p' && r != 's':
		return 'a'
	}
	return r
}

// classes returns one character of each class that inst reads.
func (s *searcher) classes(inst *syntax.Inst) []rune {
	var key *rune
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1:
		key = &inst.Rune[0]
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
	default:
		return nil
	}
	all, known := s.runes[key]
	if known {
		return all
	}
	have := map[rune]bool{}
	for _, r := range alphabet {
		if c := class(r); !have[c] && (key == nil || inst.MatchRune(r)) {
			have[c] = true
			all = append(all, r)
		}
	}
	if s.wide && key != nil && inst.Rune[len(inst.Rune)-1] > '~' {
		all = append(all, 'é') // a scanState treats all characters other than ASCII alike
	}
	s.runes[key] = all
	return all
}

// text returns the text that led to visit i.
func (s *searcher) text(i int) string {
	var all []rune
	for ; s.visits[i].parent >= 0; i = s.visits[i].parent {
		all = append(all, s.visits[i].r)
	}
	slices.Reverse(all)
	return string(all)
}
