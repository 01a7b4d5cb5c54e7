// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	// answering is the time limit for the host to report a timeout of the call.
	answering = time.Second
	// finishing is the time limit for the host to end the command after its last frame.
	finishing = 10 * time.Second
)

// limit ends the call at its time limit if the host does not. The host enforces the limit too, but its
// watcher may be suspended. The verbs that follow a job have no limit.
func (c *call) limit(args []string) {
	f := files{c: c}
	if len(args) > 1 && base(args) == "hostexec" && (args[1] == "logs" || args[1] == "wait") {
		return
	}
	if f.limits(args); f.limit && f.hostLimit && f.total > 0 {
		// Ends with the process; the main goroutine may wait for the host forever.
		go c.expire(f.total)
	}
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
