// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"
	"unsafe"
)

// pollFD is struct pollfd.
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const (
	pollIn  = 1
	pollOut = 4
)

// poll waits for one of fds or until patience ends; a negative patience never ends. The caller must check
// revents: after a signal, poll returns with none set.
func poll(fds []pollFD, patience time.Duration) {
	var ts *syscall.Timespec
	if patience >= 0 {
		t := syscall.NsecToTimespec(int64(patience))
		ts = &t
	}
	syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(ts)), 0, 0, 0)
}

func eventfd() (int, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func fcntl(fd, cmd, arg int) (int, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// ioctl is ioctl(2). It is not inlined, because each copy makes the shim larger.
//
//go:noinline
func ioctl(fd int, req uintptr, p unsafe.Pointer) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	if errno != 0 {
		return errno
	}
	return nil
}
