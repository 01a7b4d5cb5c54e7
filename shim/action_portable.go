// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package shim

import (
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// actions guards what signals do, as on Linux.
var actions sync.Mutex

// ignored reports whether sig is ignored, by inheritance.
func ignored(sig syscall.Signal) bool { return signal.Ignored(sig) }

// ignoreTTIN makes a read from the background an error instead of a stop.
func ignoreTTIN() { signal.Ignore(syscall.SIGTTIN) }

// die ends the process by sig, where the Go runtime does as the system would when nobody
// listens. For others it returns the code that says the same.
func die(sig syscall.Signal) int {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		actions.Lock() // for good: nobody listens any more
		signal.Reset(sig)
		syscall.Kill(syscall.Getpid(), sig)
		poll(nil, time.Second) // another thread may be who dies of it
	}
	return 128 + int(sig)
}

// stopOneself returns when the process has been stopped and continued. No handler of the
// runtime's swallows STOP.
func stopOneself(syscall.Signal) {
	syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	poll(nil, 50*time.Millisecond) // another thread may be who takes it
}

// stopGroup stops the shim's process group, all of the job, as ^Z would have.
func stopGroup() {
	signalGroup(syscall.SIGTSTP)
	stopOneself(syscall.SIGSTOP)
}

// signalGroup sends sig to the others of the shim's process group.
func signalGroup(sig syscall.Signal) {
	actions.Lock()
	defer actions.Unlock()
	signal.Ignore(sig)
	syscall.Kill(0, sig)
}
