// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// children are the processes that Parents forked and that were not reaped. There is one list for this process,
// because its children belong to the process too.
var children struct {
	mu     sync.Mutex // guards the fields below; held while forking and reaping
	byPID  map[int]*Child
	behind bool // orphans may be waiting behind a dead child that is not ours to reap
}

// reap runs at each change of a child. It reaps orphans and reports stopped commands.
func (p *Parent) reap() {
	late := time.NewTimer(time.Hour)
	late.Stop()
	for {
		select {
		case _, ok := <-p.sigs:
			if !ok {
				late.Stop()
				return
			}
			noteStops()
			if !reapOrphans() {
				late.Reset(time.Second)
			}
		case <-late.C:
			reapListed()
		}
	}
}

// noteStops takes the reports of stopped children; those of their ends stay.
func noteStops() {
	for {
		ch, ok := waitid(unix.P_ALL, 0, unix.WSTOPPED|unix.WNOHANG)
		if !ok {
			return
		}
		children.mu.Lock()
		c := children.byPID[ch.pid]
		children.mu.Unlock()
		if c != nil && c.helper == nil {
			c.noteStop()
		}
	}
}

// reapOrphans reaps dead children that no goroutine of this process waits for. The kernel shows one dead child
// at a time, and the next one only after that is reaped. If another goroutine has to reap it, reapOrphans
// reports false.
func reapOrphans() bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	children.behind = !reapOrphansLocked()
	return !children.behind
}

func reapOrphansLocked() bool {
	for {
		ch, ok := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
		if !ok {
			return true
		}
		if !orphanLocked(ch.pid) {
			return false
		}
		reap(ch.pid)
	}
}

// orphanLocked reports whether no goroutine of this process waits for its child pid. The children of Parents
// are known. Children of other code, such as os/exec, are still in this process's POSIX session. For an orphan, each
// ancestor that a Parent started has left that session.
func orphanLocked(pid int) bool {
	return children.byPID[pid] == nil && posixSession(pid) != posixSession(0)
}

// reapListed reaps orphans that wait for long behind a dead child. The call of that child may be blocked by a
// caller that does not read its output.
func reapListed() {
	pids := newChildLister().of(unix.Getpid())
	children.mu.Lock()
	defer children.mu.Unlock()
	for _, pid := range pids {
		if orphanLocked(pid) {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// posixSession returns the POSIX session of a process, dead or alive; 0 means this one.
func posixSession(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return sid
}
