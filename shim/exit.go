// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"syscall"

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
	if m.Text != "" {
		writeAll(2, []byte(m.Text))
	}
	if m.Outcome == wire.Signaled {
		if c.tty != nil {
			typed(m.Signal)
		}
		for _, s := range mortal {
			if s.name == m.Signal {
				return die(s.sig)
			}
		}
	}
	return code(m)
}

// typed passes on a signal that a key sent to a command of a terminal. Locally the whole
// job gets it, the script around the command included; here the key went to the host.
func typed(name string) {
	switch name {
	case "INT":
		signalGroup(syscall.SIGINT)
	case "QUIT":
		signalGroup(syscall.SIGQUIT)
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
