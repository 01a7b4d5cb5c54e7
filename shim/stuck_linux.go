// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"
)

// stuckTimeout is how long a write may block after a fatal signal before the shim dies of that signal.
const stuckTimeout = time.Second

// watchBlockedWrite handles a fatal signal that arrives while output cannot be written. The command has the
// signal and may have died of it, but that message is queued behind the blocked output. A local process
// would die in its write. If the write is still blocked after a while, the shim dies too, which ends the
// command.
func (c *call) watchBlockedWrite(sig syscall.Signal) {
	n := c.writes.Load()
	if n%2 == 0 {
		return
	}
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
	default:
		return
	}
	// Ends after stuckTimeout, or with the process.
	go func() {
		poll(nil, stuckTimeout)
		if c.writes.Load() == n {
			c.restore()
			syscall.Exit(die(sig))
		}
	}()
}
