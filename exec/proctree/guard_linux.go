// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guardedSupervisor is a supervisor that its command cannot signal. The supervisor of a confined command is in the same
// sandbox, so the command could kill it, and then leave processes that nothing recognises.
func guardedSupervisor(path string, args []string) error { return supervise(path, args, forkGuarded) }

// forkGuarded starts a process that can signal only itself and its descendants (landlock(7)). The forking thread has
// the same restriction. It has ended before forkGuarded returns, because whoever kills a thread kills its process.
func forkGuarded(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	s, err := newSpawner(scopeSignals)
	if err == nil {
		err = s.start(path, args, attr, func(started int) { pid = started })
	}
	s.close()
	for unix.Tgkill(unix.Getpid(), s.tid, 0) == nil {
		time.Sleep(50 * time.Microsecond)
	}
	return pid, err
}

// scopeSignals keeps what the calling thread forks from signalling other processes.
func scopeSignals() error {
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(ruleset))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}
