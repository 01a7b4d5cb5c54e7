// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// unused reports whether nobody but us has f open: the kernel gives a lease on it to no other
// (fcntl(2), F_SETLEASE). Where there are no leases it is taken for unused.
func unused(f *os.File) bool {
	fd := f.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return err != unix.EAGAIN
	}
	unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	return true
}
