// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// mortal are the signals that the shim dies of when the command did, so that a shell
// around it stops at ^C as it would around the command. Others would leave a core of the
// wrong program, or be reported as its crash.
var mortal = [...]struct {
	name string
	sig  syscall.Signal
}{
	{"INT", syscall.SIGINT},
	{"TERM", syscall.SIGTERM},
	{"HUP", syscall.SIGHUP},
	{"KILL", syscall.SIGKILL},
}

// exit ends the call as the host says. Everything that came before it is written.
func (c *call) exit(p []byte) int {
	m, err := wire.ParseExit(p)
	if err != nil {
		return c.lost(err)
	}
	return c.end(m)
}

// end ends the call as m says.
func (c *call) end(m wire.Exit) int {
	if c.stdin != nil {
		c.stdin.rewind(m.Consumed)
	}
	c.restore()
	if m.Text != "" && (m.Consumed < wire.Withheld || unread()) {
		writeAll(2, []byte(m.Text))
	}
	if m.Outcome == wire.Signaled {
		if c.tty != nil {
			c.typed(m.Signal)
		}
		for _, s := range mortal {
			if s.name == m.Signal {
				return die(s.sig)
			}
		}
	}
	return code(m)
}

// unread reports whether stdin has data: a pipe, a socket or what is left of a file.
func unread() bool {
	var n int32
	return ioctl(0, syscall.TIOCINQ, unsafe.Pointer(&n)) == nil && n != 0
}

// typed passes on a signal that a key sent to a command of a terminal. Locally the whole
// job gets it, the script around the command included; here the key went to the host.
func (c *call) typed(signal string) {
	for _, sig := range [...]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if name(sig) == signal && c.sent.Load() != int64(sig) { // else the shim itself has forwarded it
			signalGroup(sig)
		}
	}
}

// code is what to exit with: what the host says, but zero only where the command did.
func code(m wire.Exit) int {
	switch {
	case m.Outcome == wire.Exited || m.Code != 0:
		return int(m.Code)
	case m.Outcome == wire.Refused:
		return wire.CodeRefused
	case m.Outcome == wire.TimedOut:
		return wire.CodeTimeout
	}
	return wire.CodeFailed
}
