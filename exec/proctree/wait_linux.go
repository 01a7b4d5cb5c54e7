// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childStatus is the result of waitid(2) for a child.
type childStatus struct {
	pid    int
	code   int32 // CLD_EXITED, CLD_KILLED, CLD_DUMPED, CLD_STOPPED
	status int32 // exit code or signal
}

const (
	cldExited  = 1
	cldKilled  = 2
	cldDumped  = 3
	cldStopped = 5
)

// waitid is waitid(2), repeated when interrupted. It reports false if no child has changed, or if there is no
// such child.
func waitid(idType, id, options int) (childStatus, bool) {
	var info unix.Siginfo
	err := unix.EINTR
	for err == unix.EINTR {
		e := unix.Waitid(idType, id, &info, options, nil)
		err, _ = e.(syscall.Errno)
	}
	if err != 0 || info.Signo == 0 {
		return childStatus{}, false
	}
	// The union that follows three words is aligned as a pointer: pid, uid, status.
	const word = unsafe.Sizeof(uintptr(0))
	union := (*[3]int32)(unsafe.Add(unsafe.Pointer(&info), (12+word-1)/word*word))
	return childStatus{pid: int(union[0]), code: info.Code, status: union[2]}, true
}

// waitStatus is ch as wait4(2) would have it.
func (ch childStatus) waitStatus() syscall.WaitStatus {
	switch ch.code {
	case cldExited:
		return syscall.WaitStatus(ch.status&0xff) << 8
	case cldDumped:
		return syscall.WaitStatus(ch.status | 0x80)
	}
	return syscall.WaitStatus(ch.status)
}

// reap takes the status of a dead child.
func reap(pid int) (ws syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
			return ws
		}
	}
}
