// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Attack 128.
func TestCloexecAll(t *testing.T) {
	for name, mark := range map[string]func() error{"close_range": CloexecAll, "listed": cloexecListed} {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := mark(); err != nil {
			t.Fatal(err)
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); flags != unix.FD_CLOEXEC {
			t.Errorf("%s: flags of a descriptor = %d, %v, want %d", name, flags, err, unix.FD_CLOEXEC)
		}
		unix.Close(fd)
	}
}
