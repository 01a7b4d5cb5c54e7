// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"syscall"
	"time"
)

// stuck is how long a write may hang after a deadly signal before the shim dies of that.
const stuck = time.Second

// mayBeStuck watches over a deadly signal that came while output could not be written.
// The command has it and may have died of it, but word of that is queued behind output
// that nobody takes: a local process would die in its write. If the write still hangs
// after a while, so does the shim, and that ends the command if it lives.
func (c *call) mayBeStuck(sig syscall.Signal) {
	n := c.writes.Load()
	if n%2 == 0 {
		return
	}
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
	default:
		return
	}
	// Ends within stuck, or with the process.
	go func() {
		poll(nil, stuck)
		if c.writes.Load() == n {
			c.restore()
			syscall.Exit(die(sig))
		}
	}()
}
