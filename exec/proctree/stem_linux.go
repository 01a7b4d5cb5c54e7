// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stem is what a Stem has on this system.
type stem struct {
	root    member
	adopter int             // pid of the root's supervisor, or 0
	had     map[member]bool // children and orphans there were
	met     *met
}

// met is what was found when the stem was interrupted: a parent that ends of that takes along what
// tells who its children belong to.
type met struct {
	sync.Mutex
	found map[member]bool
}

// ending ends what look finds, and what was met.
func (s Stem) ending(look func() sight) ending {
	s.met.Lock()
	defer s.met.Unlock()
	return ending{look: look, found: maps.Clone(s.met.found), beyond: map[member]bool{}}
}

func lookAt(pid int, id string) Stem {
	s := Stem{id: id, stem: stem{adopter: supervisorOf(pid), had: map[member]bool{}, met: &met{found: map[member]bool{}}}}
	if st, ok := readStat(pid); ok && st.alive() {
		s.root = member{pid, st.start}
	}
	k := newKin()
	for _, kid := range k.of(pid) {
		s.note(kid)
	}
	for kid, c := range k.own() {
		if c == nil {
			s.note(kid)
		}
	}
	for _, kid := range s.adopted(k) {
		s.note(kid)
	}
	return s
}

// adopted returns the orphans that the root's supervisor has now.
func (s Stem) adopted(k kin) []int {
	if s.adopter == 0 || supervisorOf(s.root.pid) != s.adopter {
		return nil
	}
	return slices.DeleteFunc(k.of(s.adopter), func(pid int) bool { return pid == s.root.pid })
}

func (s Stem) note(pid int) {
	if st, ok := readStat(pid); ok {
		s.had[member{pid, st.start}] = true
	}
}

// new reports whether a process was not there when the stem was looked at.
func (s Stem) new(pid int) bool {
	st, ok := readStat(pid)
	return ok && !s.had[member{pid, st.start}]
}

// alive reports whether the process still is the one that was looked at.
func (s Stem) alive() bool {
	st, ok := readStat(s.root.pid)
	return ok && st.start == s.root.start && st.alive()
}

// grown looks at what has grown since, as the marker of request or else its parent tells.
func (s Stem) grown(request string) func() sight {
	return func() sight {
		k := newKin()
		seen := s.orphans(k, request)
		if s.alive() {
			var roots []int
			for _, kid := range k.of(s.root.pid) {
				if s.new(kid) {
					roots = append(roots, kid)
				}
			}
			k.walk(roots, &seen)
		}
		return seen
	}
}

// branch looks at one descendant, and what has grown from it.
func (s Stem) branch(b member, request string) func() sight {
	return func() sight {
		k := newKin()
		seen := s.orphans(k, request)
		if st, ok := readStat(b.pid); ok && st.start == b.start {
			k.walk([]int{b.pid}, &seen)
		}
		return seen
	}
}

// orphans looks at those children of this process, and of the root's supervisor, that lost a parent
// below the stem. What only forked still carries the marker that the stem itself was started with.
func (s Stem) orphans(k kin, request string) sight {
	match := func(pid int) bool {
		if !s.new(pid) {
			return false
		}
		value, _ := markerOf(pid)
		return string(value) == s.id && sessionOf(pid) == s.root.pid || hasMarker(pid, request)
	}
	seen := k.see(func(pid int, c *Child) bool { return c == nil && match(pid) })
	adopted := s.adopted(k)
	settle(slices.Clone(adopted))
	var roots []int
	for _, pid := range adopted {
		if match(pid) {
			roots = append(roots, pid)
		} else if !alive(pid) {
			seen.dead[pid] = true // too late to tell whether it would have matched
		}
	}
	k.walk(roots, &seen)
	return seen
}

func (s Stem) interrupt(request string) {
	e := s.ending(s.grown(request))
	left := e.left()
	s.met.Lock()
	maps.Copy(s.met.found, e.found)
	s.met.Unlock()
	s.signal(unix.SIGINT)
	for _, m := range left {
		e.send(m, unix.SIGINT)
	}
}

func (s Stem) signal(sig syscall.Signal) {
	e := ending{beyond: map[member]bool{}}
	e.send(s.root, unix.Signal(sig))
}

func (s Stem) hangUp() {
	s.signal(unix.SIGSTOP)
	s.signal(unix.SIGHUP)
}

func (s Stem) prune(request string, grace time.Duration) error {
	e := s.ending(s.grown(request))
	return e.run(grace, nil)
}

func (s Stem) cut(pid int, request string, grace time.Duration) error {
	st, ok := readStat(pid)
	if !ok {
		return nil
	}
	e := s.ending(s.branch(member{pid, st.start}, request))
	return e.run(grace, nil)
}
