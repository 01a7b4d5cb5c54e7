// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// The runtime keeps its handlers after signal.Reset, and they swallow SIGTSTP, print a
// trace for SIGQUIT, and turn SIGPIPE into an error. Stopping and dying as a local
// process does need the kernel's own default action.

// actions guards what signals do: while one has its default action for a moment, listen
// must not put the runtime's handler in its place, which would swallow it.
var actions sync.Mutex

// action is the kernel's struct sigaction. Its first word is the handler on all our
// architectures, and all zeros is the default action; the rest is kept, not read.
type action [8]uint64

const sigIgnore = 1 // SIG_IGN

func ignoring() (a action) {
	*(*uintptr)(unsafe.Pointer(&a)) = sigIgnore
	return a
}

// swapAction replaces the action of sig, or only reads it if a is nil. It is not inlined, because
// each copy makes the shim larger.
//
//go:noinline
func swapAction(sig syscall.Signal, a *action) (old action) {
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	return old
}

// ignored reports whether sig is ignored, by inheritance. For signals other than HUP,
// INT, TSTP and CONT the runtime has overwritten that.
func ignored(sig syscall.Signal) bool {
	a := swapAction(sig, nil)
	return *(*uintptr)(unsafe.Pointer(&a)) == sigIgnore
}

// ignoreTTIN makes a read from the background an error instead of a stop: the pump
// looks first whether it is in front, but the shell may take the terminal in between.
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

// raise sends sig to this thread with the default action. The kernel acts on it before
// raise returns; a signal to the process could be taken by another thread, later.
func raise(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	actions.Lock()
	defer actions.Unlock()
	old := swapAction(sig, &action{})
	cont := swapAction(syscall.SIGCONT, &action{}) // the CONT that ends a stop is not forwarded twice
	set := uint64(1) << (sig - 1)
	const unblock = 1 // SIG_UNBLOCK
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(sig))
	swapAction(sig, &old)
	swapAction(syscall.SIGCONT, &cont)
}

// die ends the process by sig. If that is not possible, as for pid 1, it returns the
// code that says the same.
//
//go:noinline
func die(sig syscall.Signal) int {
	raise(sig)
	return 128 + int(sig)
}

// stopOneself returns when the process has been stopped and continued.
func stopOneself(sig syscall.Signal) { raise(sig) }

// stopGroup stops the shim's process group, all of the job, as ^Z would have.
func stopGroup() {
	signalGroup(syscall.SIGTSTP) // the others first; we must not stop twice
	raise(syscall.SIGTSTP)
}

// signalGroup sends sig to the others of the shim's process group.
func signalGroup(sig syscall.Signal) {
	actions.Lock()
	defer actions.Unlock()
	a := ignoring()
	old := swapAction(sig, &a)
	syscall.Kill(0, sig)
	swapAction(sig, &old)
}
