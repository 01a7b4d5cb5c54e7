// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"os"

	"golang.org/x/sys/unix"
)

func (d *UntrustedDir) reserve(n int64) (*os.File, error) {
	fd, err := unix.Openat(d.fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Fallocate(fd, 0, 0, n); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "reserve"), nil
}
