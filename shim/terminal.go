// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"sync"
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// terminal is the caller's terminal in pty mode, on 0. It is raw while the shim is in
// the foreground, as the host's terminal does the editing and the echo; else it belongs
// to others, and is not touched.
type terminal struct {
	mu     sync.Mutex      // guards the fields below
	saved  syscall.Termios // what it was before it became raw
	isRaw  bool
	parted bool // stopped, or ended: it stays cooked whoever asks
}

// front makes it raw if the shim is in the foreground, which it reports, and says
// whether that is news.
func (t *terminal) front(again bool) (inFront, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parted || !foreground() {
		t.isRaw = false
		return false, false
	}
	if t.isRaw && !again {
		return true, false
	}
	if !t.isRaw && ioctl(0, getTermios, unsafe.Pointer(&t.saved)) != nil {
		return true, false
	}
	raw := t.saved
	makeRaw(&raw)
	t.isRaw = ioctl(0, setTermios, unsafe.Pointer(&raw)) == nil
	return true, true
}

// part makes it what it was, and leaves it so until meet.
func (t *terminal) part() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isRaw && foreground() {
		ioctl(0, setTermios, unsafe.Pointer(&t.saved))
	}
	t.isRaw, t.parted = false, true
}

// meet undoes part.
func (t *terminal) meet() {
	t.mu.Lock()
	t.parted = false
	t.mu.Unlock()
}

func (t *terminal) raw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.isRaw
}

// makeRaw is cfmakeraw(3).
func makeRaw(t *syscall.Termios) {
	t.Iflag &^= syscall.IGNBRK | syscall.BRKINT | syscall.PARMRK | syscall.ISTRIP |
		syscall.INLCR | syscall.IGNCR | syscall.ICRNL | syscall.IXON
	t.Oflag &^= syscall.OPOST
	t.Lflag &^= syscall.ECHO | syscall.ECHONL | syscall.ICANON | syscall.ISIG | syscall.IEXTEN
	t.Cflag &^= syscall.CSIZE | syscall.PARENB
	t.Cflag |= syscall.CS8
	t.Cc[syscall.VMIN], t.Cc[syscall.VTIME] = 1, 0
}

// foreground reports whether the terminal on 0 is the shim's to use. One that is not
// its controlling terminal has no foreground, and nobody to take it away.
func foreground() bool {
	var group int32
	if ioctl(0, syscall.TIOCGPGRP, unsafe.Pointer(&group)) != nil {
		return true
	}
	return int(group) == syscall.Getpgrp()
}

func isTerminal(fd int) bool {
	var t syscall.Termios
	return ioctl(fd, getTermios, unsafe.Pointer(&t)) == nil
}

func winsize(fd int) (w wire.Winsize) {
	ioctl(fd, syscall.TIOCGWINSZ, unsafe.Pointer(&w)) // struct winsize, field for field
	return w
}
