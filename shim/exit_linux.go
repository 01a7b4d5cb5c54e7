// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// fatalSignals are the signals that the shim dies of if the command did. A shell around the shim then reacts to
// ^C as it would for the command itself. Other signals would leave a core dump of the shim, or be reported
// as its crash.
var fatalSignals = [...]struct {
	name string
	sig  syscall.Signal
}{
	{"INT", syscall.SIGINT},
	{"TERM", syscall.SIGTERM},
	{"HUP", syscall.SIGHUP},
	{"KILL", syscall.SIGKILL},
}

// exit ends the call with the host's Exit message. All output before it is already written.
func (c *call) exit(p []byte) int {
	m, err := wire.ParseExit(p)
	if err != nil {
		return c.hostLost(err)
	}
	return c.end(m)
}

// end ends the call with the outcome in m.
func (c *call) end(m wire.Exit) int {
	if c.stdin != nil {
		c.stdin.rewind(m.Consumed)
	}
	c.restore()
	if m.Text != "" && (m.Consumed < wire.Withheld || stdinHasData()) {
		writeAll(2, []byte(m.Text))
	}
	if m.Outcome == wire.Signaled {
		if c.tty != nil {
			c.signalJob(m.Signal)
		}
		for _, s := range fatalSignals {
			if s.name == m.Signal {
				return die(s.sig)
			}
		}
	}
	return code(m)
}

// stdinHasData reports whether stdin has unread data: in a pipe, a socket or the rest of a file.
func stdinHasData() bool {
	var n int32
	return ioctl(0, syscall.TIOCINQ, unsafe.Pointer(&n)) == nil && n != 0
}

// signalJob sends a key's signal to the rest of the job, for a command with a terminal. For a local command,
// the kernel signals the whole job, including a script around it. Here the key was handled by the host's
// terminal.
func (c *call) signalJob(signal string) {
	for _, sig := range [...]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if name(sig) == signal && c.sent.Load() != int64(sig) { // skips a signal that the shim itself has forwarded
			signalGroup(sig)
		}
	}
}

// code returns the exit code. It returns zero only if the command itself did.
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
