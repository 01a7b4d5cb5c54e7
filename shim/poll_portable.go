// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package shim

import (
	"syscall"
	"time"
	"unsafe"
)

// poll waits for one of fds, or until patience ends, which a negative one never does. It is
// select(2), for the other one of macOS knows no terminals.
func poll(fds []pollFD, patience time.Duration) {
	var in, out syscall.FdSet
	last := -1
	for i := range fds {
		p := &fds[i]
		p.revents = 0
		if p.fd < 0 {
			continue
		}
		last = max(last, int(p.fd))
		if p.events&pollIn != 0 {
			*bit(&in, p.fd) |= mask(p.fd)
		}
		if p.events&pollOut != 0 {
			*bit(&out, p.fd) |= mask(p.fd)
		}
	}
	var until *syscall.Timeval
	if patience >= 0 {
		t := syscall.NsecToTimeval(int64(patience))
		until = &t
	}
	if choose(last+1, &in, &out, until) != nil {
		return
	}
	for i := range fds {
		p := &fds[i]
		if p.fd >= 0 && *bit(&in, p.fd)&mask(p.fd) != 0 {
			p.revents |= pollIn
		}
		if p.fd >= 0 && *bit(&out, p.fd)&mask(p.fd) != 0 {
			p.revents |= pollOut
		}
	}
}

// bit returns the word of set that has fd's bit. A descriptor beyond the set's end cannot be
// waited for, and a program that has just been started has none.
func bit(set *syscall.FdSet, fd int32) *bits { return &set.Bits[int(fd)/wordBits] }

func mask(fd int32) bits { return 1 << (int(fd) % wordBits) }

const wordBits = int(unsafe.Sizeof(bits(0))) * 8

// waker is a pipe: what is written to one end makes the other one readable.
func waker() (r, w int, err error) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return -1, -1, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
		syscall.SetNonblock(fd, true)
	}
	return fds[0], fds[1], nil
}

// stream is how a socket is made: that it is closed by an exec has to be asked for later.
const stream = syscall.SOCK_STREAM

// sendRequest sends b. No descriptor rides along.
func sendRequest(sock int, b []byte, _ []int) error { return writeAll(sock, b) }

func fcntl(fd, cmd, arg int) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func ioctl(fd int, req uintptr, p unsafe.Pointer) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	if errno != 0 {
		return errno
	}
	return nil
}
