// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"encoding/binary"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// controlFD is a helper's descriptor of the socket pair to the watcher.
const controlFD = 3

// The messages of a helper are a letter and a number, one packet each. The watcher sends none: its end of
// file means that it sends no more signals.
const (
	msgStarted = 's' // pid
	msgFailed  = 'f' // errno
	msgStopped = 't' // signal
	msgEnded   = 'e' // wait status; not reaped before the watcher's end of file
)

const msgLen = 5

// monitor is the leader of a POSIX session whose terminal is descriptor 0. A command needs such a parent. If the
// command led the session itself, its process group would be orphaned, and ^Z could not stop it. Its end would send HUP
// to its background processes.
func monitor(path string, args []string) error {
	// The monitor must survive the signals that end or stop the command, to report the result. It handles
	// them, and does not ignore them, so that the command gets the default actions.
	signal.Notify(noSignals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT)
	pid, err := forkExec(path, args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Foreground: true, Ctty: 0},
	})
	if err != nil {
		return err
	}
	writeMessage(msgStarted, uint32(pid))
	watch(pid)
	takeForeground()
	reap(pid)
	return nil
}

// watch reports each change of pid, and returns when pid is dead and the watcher has been informed.
func watch(pid int) {
	for {
		ch, ok := waitid(unix.P_PID, pid, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
		switch {
		case !ok:
			return
		case ch.code == cldStopped:
			waitid(unix.P_PID, pid, unix.WSTOPPED|unix.WNOHANG) // consumes the stop, so that it is reported once
			writeMessage(msgStopped, uint32(ch.status))
		default:
			writeMessage(msgEnded, uint32(ch.waitStatus()))
			awaitEOF()
			return
		}
	}
}

// takeForeground makes the monitor's own group the foreground group of the terminal. When the monitor ends,
// the kernel sends HUP to the foreground group only, and not to the background processes of the command.
func takeForeground() {
	var ttou unix.Sigset_t
	ttou.Val[0] = 1 << (unix.SIGTTOU - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, nil) != nil {
		return // setting it from the background would stop the monitor for ever
	}
	unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
}

func writeMessage(kind byte, n uint32) {
	msg := binary.NativeEndian.AppendUint32([]byte{kind}, n)
	for unix.Send(controlFD, msg, unix.MSG_NOSIGNAL) == unix.EINTR {
	}
}

func awaitEOF() {
	for {
		n, err := unix.Read(controlFD, make([]byte, 1))
		if n <= 0 && err != unix.EINTR {
			return
		}
	}
}
