// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"fmt"
	"os"

	"github.com/containerd/console"
	"golang.org/x/sys/unix"
)

// openTerminal creates a terminal on the host and returns the slave for the command. The master
// stays in this process.
func (conns *connections) openTerminal(w Winsize) (slave int, err error) {
	if conns.master, slave, err = openPTY(); err != nil {
		return -1, fmt.Errorf("make a terminal: %w", err)
	}
	conns.commandFDs = append(conns.commandFDs, slave)
	conns.resize(w)
	return slave, nil
}

func openPTY() (master *os.File, slave int, err error) {
	pty, name, err := console.NewPty()
	if err != nil {
		return nil, -1, err
	}
	defer pty.Close() // its file is blocking; the duplicate below is non-blocking
	fd, err := unix.FcntlInt(pty.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, -1, err
	}
	unix.SetNonblock(fd, true)
	master = os.NewFile(uintptr(fd), "ptmx")
	slave, err = unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		master.Close()
		return nil, -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	setUTF8(slave)
	return master, slave, nil
}

// setUTF8 makes the erase key remove a whole UTF-8 character, as terminal emulators do.
func setUTF8(tty int) {
	if t, err := unix.IoctlGetTermios(tty, unix.TCGETS); err == nil {
		t.Iflag |= unix.IUTF8
		unix.IoctlSetTermios(tty, unix.TCSETS, t)
	}
}

// signalForeground sends a signal to the terminal's foreground group. It reports false if there is
// no terminal, or if no key can send the signal.
func (conns *connections) signalForeground(name Signal) bool {
	sent := false
	conns.control(func(fd int) {
		sent = unix.IoctlSetInt(fd, unix.TIOCSIG, int(unix.SignalNum("SIG"+name))) == nil
	})
	return sent
}

// resize changes the size of the terminal. The kernel sends WINCH to the foreground group.
func (conns *connections) resize(w Winsize) {
	conns.control(func(fd int) {
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: w.Rows, Col: w.Cols, Xpixel: w.X, Ypixel: w.Y})
	})
}

// control calls do with the master of the terminal, if there is one.
func (conns *connections) control(do func(fd int)) {
	if conns.master == nil {
		return
	}
	if conn, err := conns.master.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { do(int(fd)) })
	}
}
