// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenOn listens at addr for what arrives by device (SO_BINDTODEVICE, socket(7); without
// privileges since Linux 5.7). An address alone would be reached from everywhere that this
// host forwards for, and by all its users.
func listenOn(device string, at netip.AddrPort) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		cerr := c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device)
		})
		return errors.Join(err, cerr)
	}}
	return lc.Listen(context.Background(), "tcp", at.String())
}

// hungUp reports whether the other end of conn is closed, and not only for writing (poll(2)).
func hungUp(conn net.Conn) bool { return polled(conn, 0) }

// closedForWriting reports whether the other end of conn is closed, for writing at least, whatever of it
// has not been read.
func closedForWriting(conn net.Conn) bool { return polled(conn, unix.POLLRDHUP) }

// polled reports whether one of events is there, or conn is of no use any more.
func polled(conn net.Conn, events int16) bool {
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
