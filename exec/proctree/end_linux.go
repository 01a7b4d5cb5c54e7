// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// treeEnding ends all processes that find returns, until find returns none. It repeats snapshots and signals, because a
// tree can grow meanwhile.
type treeEnding struct {
	find  func() snapshot
	group int // a process group of theirs that cannot be reused, or 0

	found        map[proc]bool // every process of any snapshot that may still be alive
	terminated   map[proc]bool // processes that got TERM; programs often take a second TERM as "at once"
	unsignalable map[proc]bool // processes that this process may not signal, for example of sudo
}

// ErrBlind means that processes may still run, but no file of /proc could be opened to see them.
var ErrBlind = errors.New("the processes cannot be seen: too many open files")

// maxPause is the longest time between two snapshots.
const maxPause = 50 * time.Millisecond

// run ends the tree. When changed is closed, it takes the next snapshot at once.
func (e *treeEnding) run(grace time.Duration, changed <-chan struct{}) error {
	e.terminated, e.unsignalable = map[proc]bool{}, map[proc]bool{}
	if e.found == nil {
		e.found = map[proc]bool{}
	}
	polite := time.Now().Add(grace)
	killDeadline := polite.Add(DefaultGrace) // a process in an uninterruptible wait
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		left, blind := e.left()
		switch now := time.Now(); {
		case len(left) == 0 && !blind:
			return nil
		case now.Before(polite):
			e.terminate(left)
			pause = max(time.Millisecond, min(pause, polite.Sub(now)))
		case now.Before(killDeadline):
			e.kill(left)
		case blind:
			return ErrBlind
		default:
			return fmt.Errorf("%d processes do not end, one is %d", len(left), left[0].pid)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-changed:
			changed = nil
			timer.Stop()
		}
	}
}

// left returns the processes that are alive and may be signalled. An empty result counts only if all processes
// that this snapshot shows as dead were dead in the previous one too. A process that dies during a snapshot
// passes its children on to a parent that the snapshot may have visited already. Without a descriptor no process
// can be seen: blind is true then, and the result empty.
func (e *treeEnding) left() (left []proc, blind bool) {
	known := map[int]bool(nil)
	for {
		failed := failedOpens.Load()
		s := e.find()
		e.addKnown(&s)
		left := slices.DeleteFunc(s.alive, func(m proc) bool { return e.unsignalable[m] })
		switch {
		case len(left) > 0:
			return left, false
		case failedOpens.Load() != failed:
			return nil, true
		case known != nil && containsAll(known, s.dead):
			return nil, false
		}
		known = s.dead
	}
}

// addKnown adds to s the processes that an earlier snapshot has and this one lacks, with their descendants. A
// process without a marker is found only by its parent, and the parent may die first.
func (e *treeEnding) addKnown(s *snapshot) {
	shown := map[proc]bool{}
	for _, m := range s.alive {
		shown[m] = true
	}
	var lost []int
	for m := range e.found {
		if m.gone() {
			delete(e.found, m)
		} else if st, ok := readStat(m.pid); ok && st.start == m.start && !shown[m] { // else it cannot be seen
			lost = append(lost, m.pid)
		}
	}
	if len(lost) > 0 {
		more := snapshot{dead: s.dead}
		newChildLister().walk(lost, &more)
		for _, m := range more.alive {
			if !shown[m] {
				s.alive = append(s.alive, m)
			}
		}
	}
	for _, m := range s.alive {
		e.found[m] = true
	}
}

// gone reports whether m has ended. A process whose state cannot be read may be alive: see failedOpens.
func (m proc) gone() bool {
	st, ok := readStat(m.pid)
	if !ok {
		return unix.Kill(m.pid, 0) == unix.ESRCH
	}
	return st.start != m.start || !st.alive()
}

func containsAll(set, subset map[int]bool) bool {
	for pid := range subset {
		if !set[pid] {
			return false
		}
	}
	return true
}

// terminate sends TERM to the processes that have not got it, children before parents. It stops them first and
// continues them when all have got TERM. Otherwise a shell would see its child die before it gets TERM itself,
// and would start its next command.
func (e *treeEnding) terminate(left []proc) {
	asked := e.freeze(left, e.needsTerm)
	for _, m := range slices.Backward(asked) {
		e.terminated[m] = e.send(m, unix.SIGTERM)
	}
	for _, m := range slices.Backward(asked) { // a stopped process gets HUP when its group becomes orphaned
		if !e.send(m, unix.SIGCONT) {
			e.terminated[m] = false // it is still stopped, and gets both again
		}
	}
}

// needsTerm reports whether m still has to get TERM. The child of a live process that got TERM does not: a handler has
// started it, to clean up.
func (e *treeEnding) needsTerm(m proc) bool {
	if e.terminated[m] {
		return false
	}
	st, ok := readStat(m.pid)
	if !ok || st.start != m.start {
		return false
	}
	parent, ok := readStat(st.ppid)
	return !ok || !parent.alive() || !e.terminated[proc{st.ppid, parent.start}]
}

// kill stops the tree before it kills it. So no process can fork while the others are killed, and none can lose
// the parent by which it is found.
func (e *treeEnding) kill(left []proc) {
	for _, m := range slices.Backward(e.freeze(left, func(proc) bool { return true })) {
		e.send(m, unix.SIGKILL)
	}
	if e.group > 0 {
		unix.Kill(-e.group, unix.SIGKILL) // of a group that forks too fast no member was found in time
	}
}

// freeze stops those processes of left that match, and their new children. It returns them, parents before
// children. If the tree grows faster than freeze can follow, it returns a part of the tree.
func (e *treeEnding) freeze(left []proc, match func(proc) bool) (order []proc) {
	frozen := map[proc]bool{}
	for range 100 {
		before := len(order)
		for _, m := range left {
			if !frozen[m] && match(m) {
				frozen[m] = true
				order = append(order, m)
				e.send(m, unix.SIGSTOP)
			}
		}
		if len(order) == before {
			break
		}
		left, _ = e.left()
	}
	return order
}

// send signals exactly m: a pidfd refers to one process, and the start time shows that the process is m. In a sandbox
// and on old kernels, a pidfd cannot send signals, so only the start time identifies m. send reports false if m may be
// alive, but cannot be seen.
func (e *treeEnding) send(m proc, sig unix.Signal) bool {
	fd, openErr := unix.PidfdOpen(m.pid, 0)
	if openErr == nil {
		defer unix.Close(fd)
	}
	st, ok := readStat(m.pid)
	switch {
	case !ok:
		return unix.Kill(m.pid, 0) == unix.ESRCH
	case st.start != m.start || !st.alive():
		return true
	}
	err := openErr
	if openErr == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if openErr != nil || err == unix.ENOSYS {
		err = unix.Kill(m.pid, sig)
	}
	if err == unix.EPERM {
		e.unsignalable[m] = true
	}
	return true
}
