// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// unused reports whether no other process has f open: then the kernel grants a lease on it (fcntl(2),
// F_SETLEASE). On file systems without leases it reports true.
func unused(f *os.File) bool {
	fd := f.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return err != unix.EAGAIN
	}
	unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	return true
}
