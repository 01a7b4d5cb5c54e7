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

// listenOn listens for connections that arrive by device (SO_BINDTODEVICE, socket(7); without privileges since Linux
// 5.7). Without that, the address could be reached from every network for which this host forwards, and by its users.
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
