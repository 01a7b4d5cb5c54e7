// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is a started process and its process tree. It must be reaped. It has many fields, because a child can also have
// a monitor or a supervisor.
type Child struct {
	Pid int // of the process, and of its group

	id        string
	leader    int // pid of the leader of the POSIX session: Pid, or the pid of the helper
	helper    *helperLink
	mark      mark
	adopts    bool          // the helper is a supervisor; guarded by children.mu, as abandoned is
	abandoned bool          // the supervisor is an orphan now
	dead      chan struct{} // closed when leader is dead; it is not reaped yet
	done      chan struct{} // closed when Pid is dead; it is not reaped yet
	stopped   chan struct{}

	mu     sync.Mutex // guards the fields below
	reaped bool
	pidfd  int // -1 where the kernel has none
}

func newChild(s StartConfig) *Child {
	return &Child{id: s.ID, mark: s.mark, dead: make(chan struct{}), stopped: make(chan struct{}, 1), pidfd: -1}
}

// start forks a process, which becomes the leader of a POSIX session if attr says so. It registers the leader with d,
// if d is not nil, and d reports its death.
func (c *Child) start(sp *spawner, d *exitWaiter, path string, args []string, attr *syscall.ProcAttr) error {
	attr.Sys.PidFD = &c.pidfd
	err := sp.start(path, args, attr, c.mark, func(pid int) {
		c.leader = pid
		if children.byPID == nil {
			children.byPID = map[int]*Child{}
		}
		children.byPID[pid] = c
	})
	if err != nil {
		return err
	}
	if d != nil && c.pidfd >= 0 && d.expect(c) == nil {
		return nil
	}
	// ends when the leader does; Reap waits for it.
	go c.await()
	return nil
}

// alone means that the leader is the command itself.
func (c *Child) alone() { c.Pid, c.done = c.leader, c.dead }

// await closes dead when the leader is dead. It holds a thread until then.
func (c *Child) await() {
	defer close(c.dead)
	for {
		if _, ok := waitid(unix.P_PID, c.leader, unix.WEXITED|unix.WNOWAIT); ok {
			return
		}
	}
}

// Done returns a channel that is closed when the process is dead. No other process gets its pid before Reap.
func (c *Child) Done() <-chan struct{} { return c.done }

// Stopped returns a channel that receives a value when the process was stopped by a signal.
func (c *Child) Stopped() <-chan struct{} { return c.stopped }

func (c *Child) noteStop() {
	select {
	case c.stopped <- struct{}{}:
	default: // an earlier stop has not been received yet
	}
}

// Signal sends a signal to the process alone.
func (c *Child) Signal(sig syscall.Signal) error { return c.signal(sig, c.Pid) }

// SignalGroup sends a signal to the process's group, as a terminal does.
func (c *Child) SignalGroup(sig syscall.Signal) error {
	err := c.signal(sig, -c.Pid)
	if err == unix.ESRCH { // it moved to another group of its terminal
		err = c.Signal(sig)
	}
	return err
}

func (c *Child) signal(sig syscall.Signal, pid int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return os.ErrProcessDone
	}
	return unix.Kill(pid, sig)
}

// End ends the process and all its descendants: TERM, and KILL after grace. It returns when they are dead.
// c still has to be reaped.
func (c *Child) End(grace time.Duration) error {
	if c.helper != nil {
		c.helper.release() // it leaves when the command has
	}
	e := treeEnding{find: c.tree}
	if c.helper == nil { // the pid of a released helper may be reused, because the helper is reaped elsewhere
		e.group = c.Pid
	}
	return e.run(grace, c.done)
}

// Exiting reports whether the process has begun to end, or has ended, by itself or by a signal. The kernel closes its
// files before it reports the end.
func (c *Child) Exiting() bool {
	select {
	case <-c.Done():
		return true
	default:
	}
	st, ok := readStat(c.Pid)
	return ok && (st.exiting || !st.alive()) // one that was reaped is done
}

// tree returns a snapshot of the descendants of the leader and of the orphans, which are children of this process now.
// An orphan is recognised by its POSIX session, its mark (a limit), or the marker in its environment.
func (c *Child) tree() snapshot {
	return newChildLister().snapshot(func(pid int, child *Child) bool {
		return child == c || child == nil && (posixSession(pid) == c.leader || c.mark.has(pid) || hasMarker(pid, c.id))
	})
}

// Reap waits for the process to die and returns its status. From then on, another process may get its pid.
func (c *Child) Reap() syscall.WaitStatus {
	<-c.done
	if c.helper != nil {
		return c.reapHelper()
	}
	return c.reapLeader()
}

func (c *Child) reapLeader() syscall.WaitStatus {
	<-c.dead
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()

	children.mu.Lock()
	ws := reap(c.leader)
	delete(children.byPID, c.leader)
	if children.behind {
		children.behind = !reapOrphansLocked()
	}
	children.mu.Unlock()
	if c.pidfd >= 0 {
		unix.Close(c.pidfd)
	}
	return ws
}
