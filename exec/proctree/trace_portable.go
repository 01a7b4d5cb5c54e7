// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package proctree

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// process is a row of the system's table of processes.
type process struct {
	member
	ppid, sid, uid int
	zombie         bool
}

// trace is what is known of the processes that grew from one. Here nobody adopts orphans: they
// become the system's. They are known by what was seen of them while they had their parents,
// by their sessions, and by the marker in their environment, if the system shows that. Who has
// left all three before anybody looked is not found.
type trace struct {
	mark  string // a variable and its value, NAME=VALUE
	since uint64 // when the root was started

	mu       sync.Mutex // guards the fields below
	seen     map[member]bool
	sessions map[int]bool // in which only they are
	empty    int          // how many looks in a row have found nothing
}

// newTrace begins the trace of root, which leads a session of its own if it is so said.
func newTrace(mark string, root member, leads bool) *trace {
	t := &trace{mark: mark, since: root.start, seen: map[member]bool{root: true}, sessions: map[int]bool{}}
	if leads {
		t.sessions[root.pid] = true
	}
	return t
}

// look finds all that live of it, parents before children.
func (t *trace) look() sight { return t.lookIn(processes(), true) }

// follow notes who descends from whom, for the time when that cannot be seen any more.
func (t *trace) follow() { t.lookIn(processes(), false) }

// lookIn is look in a table that there is; marked says whether markers are looked for, too,
// which takes longer.
func (t *trace) lookIn(all []process, marked bool) sight {
	t.mu.Lock()
	defer t.mu.Unlock()
	byParent := map[int][]process{}
	for _, p := range all {
		byParent[p.ppid] = append(byParent[p.ppid], p)
	}
	t.forget(all)
	s := sight{dead: map[int]bool{}}
	found := map[int]bool{os.Getpid(): true} // this process is none of them
	for _, p := range all {
		if t.knows(p) || marked && t.marks(p) {
			t.take(p, byParent, found, &s)
		}
	}
	if t.empty++; len(s.alive) > 0 || len(s.dead) > 0 {
		t.empty = 0
	}
	return s
}

// knows reports whether p belongs to it, whoever its parent is.
func (t *trace) knows(p process) bool { return t.seen[p.member] || t.sessions[p.sid] }

// marks reports whether p carries its marker.
func (t *trace) marks(p process) bool {
	if euid := os.Geteuid(); p.start < t.since || p.zombie || euid != 0 && p.uid != euid {
		return false
	}
	_, env := settled(p.pid)
	return slices.Contains(env, t.mark)
}

// settled is words of a process that may be in the middle of its exec, which on a busy machine
// takes long: it has no arguments then, and for a moment no environment. One may have none.
func settled(pid int) (args, env []string) {
	for tries := range 100 {
		args, env = words(pid)
		if len(env) > 0 || len(args) > 0 && tries > 10 {
			break
		}
		time.Sleep(500 * time.Microsecond)
	}
	return args, env
}

// take adds p and all that descends from it to s, and to what was seen.
func (t *trace) take(p process, byParent map[int][]process, found map[int]bool, s *sight) {
	if found[p.pid] || p.pid <= 1 {
		return
	}
	found[p.pid] = true
	t.seen[p.member] = true
	if p.sid == p.pid {
		t.sessions[p.pid] = true
	}
	if p.zombie {
		s.dead[p.pid] = true
	} else {
		s.alive = append(s.alive, p.member)
	}
	for _, kid := range byParent[p.pid] {
		t.take(kid, byParent, found, s)
	}
}

// forget drops what is not there any more: its numbers may be others' from now on.
func (t *trace) forget(all []process) {
	there, sessions := map[member]bool{}, map[int]bool{}
	for _, p := range all {
		there[p.member] = true
		sessions[p.sid] = true
	}
	maps.DeleteFunc(t.seen, func(m member, _ bool) bool { return !there[m] })
	maps.DeleteFunc(t.sessions, func(sid int, _ bool) bool { return !sessions[sid] })
}

// over reports whether nothing is left of it. Who was forked while one look was taken shows
// in the next.
func (t *trace) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.empty > 1
}

// sessionOf returns the session of a process; 0 means this one.
func sessionOf(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return sid
}

// send signals m. Nothing here binds a signal to one process: it is looked at right before.
func (e *ending) send(m member, sig unix.Signal) {
	p, ok := find(m.pid)
	if ok && p.member == m && !p.zombie && unix.Kill(m.pid, sig) == unix.EPERM {
		e.beyond[m] = true
	}
}

// Below reports whether a process, or one above it, was started as name, or for a call: then
// it is a command's. It is true of one that is not there.
func Below(pid int, name string) bool {
	for pid > 1 {
		p, ok := find(pid)
		if !ok {
			return true
		}
		args, env := settled(pid)
		if len(args) > 0 && args[0] == name || p.uid == os.Geteuid() && called(env) {
			return true
		}
		pid = p.ppid
	}
	return pid < 0
}
