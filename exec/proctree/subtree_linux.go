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

// subtree is the part of a Subtree for this system.
type subtree struct {
	root        proc
	supervisor  int           // pid of the root's supervisor, or 0
	before      map[proc]bool // the children and orphans that existed at the creation
	interrupted *interrupted
}

// interrupted holds the processes that were found when the subtree was interrupted. If a parent among them ends by the
// signal, its children cannot be found by it any more.
type interrupted struct {
	sync.Mutex
	found map[proc]bool
}

// ending returns the treeEnding for the processes that find returns, and for those that were interrupted.
func (s Subtree) ending(find func() snapshot) treeEnding {
	s.interrupted.Lock()
	defer s.interrupted.Unlock()
	return treeEnding{find: find, found: maps.Clone(s.interrupted.found), unsignalable: map[proc]bool{}}
}

func newSubtree(pid int, id string) Subtree {
	s := Subtree{id: id, subtree: subtree{supervisor: supervisorOf(pid), before: map[proc]bool{}, interrupted: &interrupted{found: map[proc]bool{}}}}
	if st, ok := readStat(pid); ok && st.alive() {
		s.root = proc{pid, st.start}
	}
	k := newChildLister()
	for _, child := range k.of(pid) {
		s.remember(child)
	}
	for child, c := range k.own() {
		if c == nil {
			s.remember(child)
		}
	}
	for _, child := range s.adopted(k) {
		s.remember(child)
	}
	return s
}

// adopted returns the orphans that the root's supervisor has now.
func (s Subtree) adopted(k childLister) []int {
	if s.supervisor == 0 || supervisorOf(s.root.pid) != s.supervisor {
		return nil
	}
	return slices.DeleteFunc(k.of(s.supervisor), func(pid int) bool { return pid == s.root.pid })
}

func (s Subtree) remember(pid int) {
	if st, ok := readStat(pid); ok {
		s.before[proc{pid, st.start}] = true
	}
}

// new reports whether a process did not exist when the Subtree was created.
func (s Subtree) new(pid int) bool {
	st, ok := readStat(pid)
	return ok && !s.before[proc{pid, st.start}]
}

// alive reports whether the root process still runs, or cannot be seen.
func (s Subtree) alive() bool { return s.root.pid != 0 && !s.root.gone() }

// descendants returns a function that finds the new descendants, by the marker of request or by their parents.
func (s Subtree) descendants(request string) func() snapshot {
	return func() snapshot {
		k := newChildLister()
		found := s.orphans(k, request)
		if s.alive() {
			var roots []int
			for _, child := range k.of(s.root.pid) {
				if s.new(child) {
					roots = append(roots, child)
				}
			}
			k.walk(roots, &found)
		}
		return found
	}
}

// subtreeOf returns a function that finds the descendant b and the descendants of b.
func (s Subtree) subtreeOf(b proc, request string) func() snapshot {
	return func() snapshot {
		k := newChildLister()
		found := s.orphans(k, request)
		if st, ok := readStat(b.pid); ok && st.start == b.start {
			k.walk([]int{b.pid}, &found)
		}
		return found
	}
}

// orphans finds those children of this process, and of the root's supervisor, that lost a parent below the root. A
// process that has forked without an exec still has the marker with which the root was started.
func (s Subtree) orphans(k childLister, request string) snapshot {
	match := func(pid int) bool {
		if !s.new(pid) {
			return false
		}
		value, _ := markerOf(pid)
		return string(value) == s.id && posixSession(pid) == s.root.pid || hasMarker(pid, request)
	}
	found := k.snapshot(func(pid int, c *Child) bool { return c == nil && match(pid) })
	adopted := s.adopted(k)
	awaitExec(slices.Clone(adopted))
	var roots []int
	for _, pid := range adopted {
		if match(pid) {
			roots = append(roots, pid)
		} else if !alive(pid) {
			found.dead[pid] = true // too late to know whether it would have matched
		}
	}
	k.walk(roots, &found)
	return found
}

func (s Subtree) interrupt(request string, sig syscall.Signal) {
	s.signal(sig) // first: a shell would otherwise start its next command
	e := s.ending(s.descendants(request))
	found := e.find()
	e.addKnown(&found)
	s.interrupted.Lock()
	maps.Copy(s.interrupted.found, e.found)
	s.interrupted.Unlock()
	for _, m := range found.alive {
		e.send(m, unix.SIGINT)
	}
}

func (s Subtree) signal(sig syscall.Signal) {
	e := treeEnding{unsignalable: map[proc]bool{}}
	e.send(s.root, unix.Signal(sig))
}

func (s Subtree) resume() {
	if st, ok := readStat(s.root.pid); ok && st.state == 'T' { // else a trap for CONT would run
		s.signal(unix.SIGCONT)
	}
}

func (s Subtree) hangUp() {
	s.signal(unix.SIGSTOP)
	s.signal(unix.SIGHUP)
}

func (s Subtree) endNew(request string, grace time.Duration) error {
	e := s.ending(s.descendants(request))
	return e.run(grace, nil)
}

func (s Subtree) endSubtree(pid int, request string, grace time.Duration) error {
	for deadline := time.Now().Add(grace + DefaultGrace); ; time.Sleep(maxPause) {
		st, ok := readStat(pid)
		switch {
		case ok:
			e := s.ending(s.subtreeOf(proc{pid, st.start}, request))
			return e.run(grace, nil)
		case unix.Kill(pid, 0) == unix.ESRCH:
			return nil
		case time.Now().After(deadline):
			return ErrBlind
		}
	}
}
