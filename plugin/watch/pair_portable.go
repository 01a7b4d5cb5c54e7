// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package watch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported says whether sessions of containers can be served on this system.
const Supported = false

// pair makes the two ends of a link.
func pair() ([2]int, error) {
	syscall.ForkLock.RLock() // nobody forks before they are marked
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return fds, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		unix.SetNonblock(fd, true)
	}
	return fds, nil
}
