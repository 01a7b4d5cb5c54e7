// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package proctree

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is a started process and the tree that grows from it. It must be reaped.
type Child struct {
	Pid int // the process's, and its group's

	id      string
	leave   bool
	trace   *trace
	done    chan struct{} // closed when it is dead
	stopped chan struct{}

	mu     sync.Mutex // guards the fields below; held while it is signalled, and while it is reaped
	reaped bool
	status syscall.WaitStatus
}

// reapChildren takes the news of all children.
func reapChildren() {
	children.mu.Lock()
	defer children.mu.Unlock()
	for pid, c := range children.byPID {
		if c.wait() {
			delete(children.byPID, pid)
			children.left = append(children.left, c)
		}
	}
}

// stopped is the end of a status that is none (wait(2)). On macOS WaitStatus.Stopped does not
// know of SIGSTOP.
const stopped = 0x7f

// wait takes what news there is of c, and reports whether it is dead. It does not block, so
// that nobody signals a number that was given back in between.
func (c *Child) wait() (dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(c.Pid, &ws, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // somebody else has reaped it: how it ended is not known
			ws = syscall.WaitStatus(syscall.SIGKILL)
			fallthrough
		case pid == c.Pid && ws&stopped != stopped:
			c.reaped, c.status = true, ws
			close(c.done)
			return true
		case pid == c.Pid:
			select {
			case c.stopped <- struct{}{}:
			default: // it is not known yet that it was stopped
			}
		default:
			return false
		}
	}
}

// Done is closed when the process is dead.
func (c *Child) Done() <-chan struct{} { return c.done }

// Stopped receives when the process was stopped by a signal.
func (c *Child) Stopped() <-chan struct{} { return c.stopped }

// Signal sends a signal to the process's group, as a terminal would.
func (c *Child) Signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return os.ErrProcessDone
	}
	err := unix.Kill(-c.Pid, sig)
	if err == unix.ESRCH {
		err = unix.Kill(c.Pid, sig)
	}
	return err
}

// End ends the process and all that is known to descend from it: TERM, KILL after grace. It
// returns when nothing of the tree is left.
func (c *Child) End(grace time.Duration) error {
	e := ending{look: c.trace.look}
	return e.run(grace, c.done)
}

// Reap waits for the process to die and returns how it did.
func (c *Child) Reap() syscall.WaitStatus {
	<-c.done
	return c.status
}

func becomeSubreaper() error { return nil }

func monitor([]string) int { return refuse(errTerminal) }

// deaf takes signals that do nothing. It is never read.
var deaf = make(chan os.Signal, 1)

// defaultSignals handles what is ignored: exec(2) keeps ignored signals ignored and makes
// handled ones default. All others but these the runtime handles already.
func defaultSignals() {
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(deaf, sig)
		}
	}
}
