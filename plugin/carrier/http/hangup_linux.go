// SPDX-License-Identifier: Apache-2.0

package http

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the other end of conn is closed, and not only for writing (poll(2)).
func hungUp(conn net.Conn) bool { return hasEvents(conn, 0) }

// closedForWriting reports whether the other end of conn is closed, at least for writing. Unread data does not matter.
func closedForWriting(conn net.Conn) bool { return hasEvents(conn, unix.POLLRDHUP) }

// hasEvents reports whether one of events has occurred, or conn is closed.
func hasEvents(conn net.Conn, events int16) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		_, err := unix.Poll(p, 0)
		gone = err == nil && p[0].Revents != 0
	})
	return gone || err != nil
}
