// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// serve handles the host's frames until Exit, and returns the exit code.
func (c *call) serve() int {
	for {
		kind, p, err := c.in.next()
		if err != nil {
			return c.hostLost(err)
		}
		c.frames.Add(1)
		switch kind {
		case wire.KindNotice:
			c.writeNotice(p)
		case wire.KindCapture:
			err = c.capture()
		case wire.KindStarted:
			err = c.started(p)
		case wire.KindFallback:
			text := string(p)
			c.fallback.Store(&text)
		case wire.KindStdout:
			err = c.output(1, p)
		case wire.KindStderr:
			err = c.output(2, p)
		case wire.KindCredit:
			err = c.credit(p)
		case wire.KindStdinClosed:
			if c.stdin != nil {
				c.stdin.close()
			}
		case wire.KindStopped:
			c.stopped()
		case wire.KindExit:
			return c.exit(p)
		default:
			err = wire.ErrKind
		}
		if bad, ok := err.(unwritable); ok {
			return c.broken(bad)
		}
		if err != nil {
			return c.hostLost(err)
		}
	}
}

// started closes the descriptors that the command has taken and starts to copy the others.
func (c *call) started(p []byte) error {
	m, err := wire.ParseStarted(p)
	if err != nil {
		return err
	}
	if c.running.Load() {
		return wire.ErrKind // allowed once only
	}
	c.how = m.FDs
	if c.how[0] == wire.PTY && c.how[1] == wire.PTY {
		c.tty = &terminal{}
		ignoreTTIN()
	}
	if c.how[0].Copies() {
		if c.stdin, err = newStdin(c); err != nil {
			return err
		}
	}
	c.running.Store(true)
	for fd, how := range c.how[:2] {
		if how == wire.Taken {
			// A reader of the pipe must see EOF when the command closes its copy. Descriptor 2 stays open
			// for the shim's own messages.
			syscall.Close(fd)
		}
	}
	if c.tty != nil {
		c.toFront()
	}
	if c.how[0].Copies() {
		// Ends at the end of stdin, on StdinClosed, or with the process: it cannot be waited for, because
		// a read may block forever.
		go c.stdin.copy()
	}
	return nil
}

// capture copies stdin to the host before the command runs. The command then gets no stdin from the caller.
func (c *call) capture() (err error) {
	if c.running.Load() || c.stdin != nil {
		return wire.ErrKind // allowed once only
	}
	if c.stdin, err = newStdin(c); err == nil {
		// Ends like the copying of started.
		go c.stdin.copy()
	}
	return err
}

func (c *call) credit(p []byte) error {
	n, err := wire.ParseCredit(p)
	if err == nil && c.stdin != nil {
		c.stdin.addCredit(n)
	}
	return err
}

// writeNotice writes a notice of the host to stderr. On a raw terminal it adds carriage returns.
func (c *call) writeNotice(text []byte) {
	if c.tty == nil || !c.tty.raw() {
		writeAll(2, text)
		return
	}
	var lines []byte
	for _, b := range text {
		if b == '\n' {
			lines = append(lines, '\r')
		}
		lines = append(lines, b)
	}
	writeAll(2, lines)
}

// restore restores the terminal for the rest of the process.
//
//go:noinline
func (c *call) restore() {
	if c.tty != nil {
		c.tty.restore()
	}
}
