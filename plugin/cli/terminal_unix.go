// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ignoreSuspension ignores the signals with which a terminal suspends processes in the background.
func ignoreSuspension() (undo func()) {
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	return func() { signal.Reset(syscall.SIGTTIN, syscall.SIGTTOU) }
}

// foreground reports whether this process is in the foreground of its terminal. It is, too, if it has none: then
// nothing suspends it.
func foreground() bool {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
