// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// drained reports whether the reader of the pipe, of which w is the other end, has read all of it.
func drained(w *os.File) bool {
	conn, err := w.SyscallConn()
	if err != nil {
		return false
	}
	empty := false
	// Fd would make w blocking.
	conn.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		empty = n == 0 && err == nil
	})
	return empty
}
