// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// deliver sends a signal to a command or to its group. It does not report errors to the caller; it
// logs them.
func (h *Host) deliver(child *proctree.Child, d Delivery, tty bool) {
	sig := unix.SignalNum("SIG" + d.Signal)
	if sig == 0 {
		return
	}
	if !tty && stops(sig) && !catches(child.Pid, sig) {
		// The kernel does not let these signals stop an orphaned process group, which no shell
		// controls (setsid, POSIX).
		sig = unix.SIGSTOP
	}
	send := child.Signal
	if d.Group {
		send = child.SignalGroup
	}
	err := send(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) && err != unix.ESRCH {
		h.log.Warn("signal a command", "pid", child.Pid, "signal", d.Signal, "error", err)
	}
}

func stops(sig syscall.Signal) bool {
	return sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

func catches(pid int, sig syscall.Signal) bool {
	return proctree.Signals(pid, "SigCgt")&(1<<(sig-1)) != 0
}

func signalName(sig syscall.Signal) Signal {
	const rtmin = 34 // libc reserves the first two
	switch name := unix.SignalName(sig); {
	case name != "":
		return strings.TrimPrefix(name, "SIG")
	case sig >= rtmin:
		return "RTMIN+" + strconv.Itoa(int(sig)-rtmin)
	}
	return strconv.Itoa(int(sig))
}
