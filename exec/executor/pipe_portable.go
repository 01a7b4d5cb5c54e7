// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package executor

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// makePipe keeps others from forking before the pipe is marked.
func makePipe(fds *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds[:]); err != nil {
		return os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return nil
}

// spare keeps a read end of a command's stdin, which can only be asked there what the command
// has not taken. So while the command runs nobody learns that it has closed its stdin.
func spare(fd int) *os.File {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(own), "pipe")
}

// reopen is for systems where a pipe can be opened anew.
func reopen(int) *os.File { return nil }

func catches(pid int, sig syscall.Signal) bool { return proctree.Catches(pid, sig) }

// openTerminal fails: a terminal's caller is joined by pipes here.
func (pl *plumbing) openTerminal(Winsize) (slave int, err error) {
	return -1, errors.New("a terminal of the host's is not supported on this system")
}

func (pl *plumbing) resize(Winsize) {}
