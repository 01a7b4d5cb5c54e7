// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// The Go runtime keeps its handlers after signal.Reset. They swallow SIGTSTP, print a trace for SIGQUIT,
// and turn SIGPIPE into an error. To stop and die like a local process, the shim must set the kernel's
// default action itself.

// actions guards the signal actions. While raise has set a default action for a moment, listen must not
// replace it by the runtime's handler, which would swallow the signal.
var actions sync.Mutex

// action is the kernel's struct sigaction. On all our architectures its first word is the handler, and all
// zeros mean the default action. The other words are only saved and restored.
type action [8]uint64

const sigIgnore = 1 // SIG_IGN

func ignoring() (a action) {
	*(*uintptr)(unsafe.Pointer(&a)) = sigIgnore
	return a
}

// swapAction replaces the action of sig, or only reads it if a is nil. It is not inlined, because each
// copy makes the shim larger.
//
//go:noinline
func swapAction(sig syscall.Signal, a *action) (old action) {
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	return old
}

// ignored reports whether sig was ignored when the process started. It works only for HUP, INT, TSTP and
// CONT: the runtime overwrites the actions of other signals, for which a system call would be wasted.
func ignored(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGCONT:
	default:
		return false
	}
	a := swapAction(sig, nil)
	return *(*uintptr)(unsafe.Pointer(&a)) == sigIgnore
}

// ignoreTTIN makes a read from the background an error instead of a stop. copy checks for the
// foreground first, but the shell may take the terminal in between.
func ignoreTTIN() {
	a := ignoring()
	swapAction(syscall.SIGTTIN, &a)
}

// unblock makes this thread receive signals that the shim's caller has blocked, which all threads of the
// shim have blocked then. The runtime of a shim does not see to that (plugin/inject/signals.sed).
func unblock() {
	var set, old uint64
	for _, f := range wire.Signals {
		set |= 1 << (f.Number - 1)
	}
	const unblock = 1 // SIG_UNBLOCK
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unblock, 0, uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	if old&set != 0 {
		runtime.LockOSThread() // for ever
		syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
	}
}

// raise sends sig to this thread with the default action. The kernel acts on it before raise returns. A
// signal to the whole process could be delivered later, to another thread.
func raise(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	actions.Lock()
	defer actions.Unlock()
	old := swapAction(sig, &action{})
	cont := swapAction(syscall.SIGCONT, &action{}) // the CONT that ends a stop must not be forwarded twice
	set := uint64(1) << (sig - 1)
	const unblock = 1 // SIG_UNBLOCK
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(sig))
	swapAction(sig, &old)
	swapAction(syscall.SIGCONT, &cont)
}

// die ends the process by sig. If that is not possible, as for pid 1, it returns the corresponding exit
// code.
//
//go:noinline
func die(sig syscall.Signal) int {
	raise(sig)
	return 128 + int(sig)
}

// stopSelf returns after the process has been stopped and continued.
func stopSelf(sig syscall.Signal) { raise(sig) }

// stopGroup stops the shim's process group, which is the whole job, as ^Z does.
func stopGroup() {
	signalGroup(syscall.SIGTSTP) // the other processes first; the shim must not stop twice
	raise(syscall.SIGTSTP)
}

// signalGroup sends sig to the other processes in the shim's process group.
func signalGroup(sig syscall.Signal) {
	actions.Lock()
	defer actions.Unlock()
	a := ignoring()
	old := swapAction(sig, &a)
	syscall.Kill(0, sig)
	swapAction(sig, &old)
}
