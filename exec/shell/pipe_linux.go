// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

const nonblocking = unix.O_NONBLOCK

func mkfifo(name string) error { return unix.Mkfifo(name, 0o600) }

// queued returns how many bytes of a pipe are not read yet. f is one of its ends.
func queued(f *os.File) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	// Fd would make f blocking.
	if e := conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); e != nil {
		return 0, e
	}
	return n, err
}
