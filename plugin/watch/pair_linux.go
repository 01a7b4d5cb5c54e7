// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package watch

import "golang.org/x/sys/unix"

// Supported says whether sessions of containers can be served on this system.
const Supported = true

// pair makes the two ends of a link.
func pair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}
