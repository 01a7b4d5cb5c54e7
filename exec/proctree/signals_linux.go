// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noSignals receives signals that need no action. Nothing reads it: os/signal drops signals that it cannot
// deliver.
var noSignals = make(chan os.Signal, 1)

// defaultSignals installs handlers for ignored signals: exec(2) keeps ignored signals ignored, and resets
// handled ones to their default. For example, a watcher that a script starts with & has INT ignored, and ^C
// would have no effect on its commands.
func defaultSignals() {
	ignored := Signals(os.Getpid(), "SigIgn")
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch {
		case ignored&(1<<(sig-1)) == 0:
		case sig >= 32 && sig <= 34: // libc's own, which os/signal does not handle
			var dfl [64]byte // a struct sigaction of zeros is SIG_DFL, on every architecture
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0)
		default:
			signal.Notify(noSignals, sig)
		}
	}
}

// Signals returns a set of signals of a process by its name in /proc/PID/status: SigBlk, SigIgn or SigCgt. Bit
// n-1 is signal n. The set of an ended process is empty.
func Signals(pid int, field string) uint64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(field+":")); ok {
			set, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), 16, 64)
			if err != nil {
				return 0
			}
			return set
		}
	}
	return 0
}

func becomeSubreaper() error {
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}
