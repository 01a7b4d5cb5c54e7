// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package executor

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

func makePipe(fds *[2]int) error {
	return os.NewSyscallError("pipe2", unix.Pipe2(fds[:], unix.O_CLOEXEC))
}

// spare is nothing: a pipe can be opened anew when its reader is wanted.
func spare(int) *os.File { return nil }

// reopen opens the read end of a pipe of which fd is the write end.
func reopen(fd int) *os.File {
	r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(r), "pipe")
}

func catches(pid int, sig syscall.Signal) bool {
	return proctree.Signals(pid, "SigCgt")&(1<<(sig-1)) != 0
}
