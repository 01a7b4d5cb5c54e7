// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"sync"
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// terminal is the caller's terminal on 0, in pty mode. It is raw while the shim is in the foreground,
// because the host's terminal does editing and echo. In the background it belongs to other processes and
// is not changed.
type terminal struct {
	mu         sync.Mutex      // guards the fields below
	saved      syscall.Termios // the settings before raw mode
	isRaw      bool
	keepCooked bool // stopped or ended: the terminal must not become raw
}

// makeRawIfForeground makes the terminal raw if the shim is in the foreground. It reports whether the shim is in the
// foreground, and whether the terminal has changed.
func (t *terminal) makeRawIfForeground(again bool) (inFront, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keepCooked || !foreground() {
		t.isRaw = false
		return false, false
	}
	if t.isRaw && !again {
		return true, false
	}
	if !t.isRaw && ioctl(0, syscall.TCGETS, unsafe.Pointer(&t.saved)) != nil {
		return true, false
	}
	raw := t.saved
	makeRaw(&raw)
	t.isRaw = ioctl(0, syscall.TCSETS, unsafe.Pointer(&raw)) == nil
	return true, true
}

// restore restores the terminal's settings, and keeps them until allowRaw.
func (t *terminal) restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isRaw && foreground() {
		ioctl(0, syscall.TCSETS, unsafe.Pointer(&t.saved))
	}
	t.isRaw, t.keepCooked = false, true
}

// allowRaw permits raw mode again.
func (t *terminal) allowRaw() {
	t.mu.Lock()
	t.keepCooked = false
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

// foreground reports whether the shim may use the terminal on 0. If it is not the shim's controlling
// terminal, there is no foreground group, and the shim may use it.
func foreground() bool {
	var group int32
	if ioctl(0, syscall.TIOCGPGRP, unsafe.Pointer(&group)) != nil {
		return true
	}
	return int(group) == syscall.Getpgrp()
}

// controllingTerminal opens the shim's controlling terminal. It returns -1 if there is none.
func controllingTerminal() int {
	fd, _ := syscall.Open("/dev/tty", syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	return fd
}

func hasControllingTerminal() bool {
	fd := controllingTerminal()
	if fd < 0 {
		return false
	}
	syscall.Close(fd)
	return true
}

func isTerminal(fd int) bool {
	var t syscall.Termios
	return ioctl(fd, syscall.TCGETS, unsafe.Pointer(&t)) == nil
}

func winsize(fd int) (w wire.Winsize) {
	ioctl(fd, syscall.TIOCGWINSZ, unsafe.Pointer(&w)) // struct winsize has the same fields
	return w
}
