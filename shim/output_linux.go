// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// unwritable is the error for a failed write to 1 or 2.
type unwritable struct {
	fd    int
	errno error
}

func (u unwritable) Error() string { return u.errno.Error() }

// output writes output of the command and returns the credit to the host. It returns credit in quarters of
// the window: smaller amounts cost traffic, larger ones cause stalls.
func (c *call) output(fd int, p []byte) error {
	if !c.how[fd].Copies() {
		return wire.ErrKind
	}
	c.writes.Add(1)
	err := writeAll(fd, p)
	c.writes.Add(1)
	if err != nil {
		return unwritable{fd, err}
	}
	c.uncredited += len(p)
	if c.uncredited >= wire.Window/4 {
		var b [4]byte
		c.host.send(wire.KindCredit, wire.AppendCredit(b[:0], uint32(c.uncredited)))
		c.uncredited = 0
	}
	return nil
}

// writeAll writes all of b, even if another process has made fd non-blocking.
func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		switch err {
		case nil:
			b = b[n:]
		case syscall.EINTR:
		case syscall.EAGAIN:
			poll([]pollFD{{fd: int32(fd), events: pollOut}}, -1)
		default:
			return err
		}
	}
	return nil
}
