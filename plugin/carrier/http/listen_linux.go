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
