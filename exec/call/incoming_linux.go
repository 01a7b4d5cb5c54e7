// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// arrived returns the number of bytes that have arrived and were not read. It returns 0 if conn is not a
// socket.
func arrived(conn net.Conn) (n int) {
	sock, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	if err != nil {
		return 0
	}
	return n
}
