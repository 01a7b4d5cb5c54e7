// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import "syscall"

// sameFile reports whether 1 and 2 are one open file, so that only writing both to
// either keeps their order: 2>&1. Anything but a regular file has one end to write to,
// however often it was opened.
func sameFile(out, err *syscall.Stat_t) bool {
	if out.Dev != err.Dev || out.Ino != err.Ino {
		return false
	}
	if out.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return true
	}
	flags, e1 := fcntl(1, syscall.F_GETFL, 0)
	other, e2 := fcntl(2, syscall.F_GETFL, 0)
	if e1 != nil || e2 != nil || flags != other {
		return false
	}
	if flags&syscall.O_APPEND != 0 {
		return true
	}
	// >f 2>f opens it twice, each with a position of its own. O_NONBLOCK means nothing
	// to a regular file, and belongs to the open file: if 2 has it when 1 gets it, they
	// are one. (kcmp(2) would tell, where seccomp lets it.)
	fcntl(1, syscall.F_SETFL, flags^syscall.O_NONBLOCK)
	other, e2 = fcntl(2, syscall.F_GETFL, 0)
	fcntl(1, syscall.F_SETFL, flags)
	return e2 == nil && other != flags
}
