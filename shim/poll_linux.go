// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"syscall"
	"time"
	"unsafe"
)

// poll waits for one of fds, or until patience ends, which a negative one never does.
// The caller looks at revents: a signal may end it with none set.
func poll(fds []pollFD, patience time.Duration) {
	var ts *syscall.Timespec
	if patience >= 0 {
		t := syscall.NsecToTimespec(int64(patience))
		ts = &t
	}
	syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(ts)), 0, 0, 0)
}

// waker is an eventfd: what is written to it makes it readable.
func waker() (r, w int, err error) {
	fd, err := eventfd()
	return fd, fd, err
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

func ioctl(fd int, req uintptr, p unsafe.Pointer) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	if errno != 0 {
		return errno
	}
	return nil
}

// stream is how a socket is made: that it is closed by an exec is asked for at once.
const stream = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC

// sendRequest sends b, and with its first byte the descriptors that ride along.
func sendRequest(sock int, b []byte, riders []int) error {
	var oob []byte
	if len(riders) > 0 {
		oob = syscall.UnixRights(riders...)
	}
	for {
		n, err := syscall.SendmsgN(sock, b, oob, nil, syscall.MSG_NOSIGNAL)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		return writeAll(sock, b[n:])
	}
}
