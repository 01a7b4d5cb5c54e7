// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	// answering is the time limit for the host to report a timeout of the call. With it, a call ends at most one
	// second after its time limit.
	answering = 700 * time.Millisecond
	// finishing is the time limit for the host to end the command after its last frame.
	finishing = 10 * time.Second
)

// limit returns the time limit of the call that args make, or 0. The host enforces it too, but its watcher may be
// suspended. The verbs that follow a job have no limit.
func (c *call) limit(args []string) time.Duration {
	f := files{c: c}
	if len(args) > 1 && base(args) == "hostexec" && (args[1] == "logs" || args[1] == "wait") {
		return 0
	}
	if f.limits(args); f.limit && f.hostLimit {
		return f.total
	}
	return 0
}

// keepOutput withholds the caller's pipes for output from the host, and returns the descriptors that are left. A
// suspended watcher would hold such a pipe after the end of the call, and its reader would wait.
func keepOutput(req *wire.Exec, riders []int) (left []int) {
	for _, fd := range riders {
		if fd == 0 || req.FDs[fd] == wire.FDTTY {
			left = append(left, fd)
		} else {
			req.Passed &^= 1 << fd
		}
	}
	return left
}

// expire ends the call after total, unless the host does.
func (c *call) expire(total time.Duration) {
	sleep(total)
	for heard, pause := c.frames.Load(), answering; ; pause = finishing {
		sleep(pause)
		now := c.frames.Load()
		if now == heard {
			break
		}
		heard = now
	}
	c.restore()
	syscall.Exit(c.fail(wire.CodeTimeout, noAnswer, "docker hostexec status on the host"))
}

const noAnswer = "timeout waiting for host to execute command"
