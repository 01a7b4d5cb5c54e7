// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// reportTimeout is the time limit for the host to report that it ends the call.
const reportTimeout = 700 * time.Millisecond

// reportMargin is the time before the limit from which on the host's report is expected: its timer may be ahead of this
// one.
const reportMargin = 100 * time.Millisecond

// finishTimeout is the time limit for the host to answer after that. The host answers within a second. So a call ends
// at most two seconds after its time limit. Variable for tests.
var finishTimeout = 1100 * time.Millisecond

// limit returns the time limit of the call that args make, or 0. The host enforces it too, but its watcher may be
// suspended. The verbs that follow a job have no limit.
func (c *call) limit(args []string) time.Duration {
	f := files{c: c}
	if f.limits(args); f.limit && f.hostLimit {
		return f.total
	}
	return 0
}

// keepOutput withholds the caller's pipes for output from the host, and returns the descriptors that are left. A
// suspended watcher would hold such a pipe after the end of the call, and its reader would wait.
func keepOutput(req *wire.Exec, passed []int) (left []int) {
	for _, fd := range passed {
		if fd == 0 || req.FDs[fd] == wire.FDTTY {
			left = append(left, fd)
		} else {
			req.Passed &^= 1 << fd
		}
	}
	return left
}

// expire ends the call after total, unless the host does, or the call turns out to use files.
func (c *call) expire(total time.Duration) {
	early := min(total, reportMargin)
	sleep(total - early)
	heard := c.frames.Load()
	if sleep(early + reportTimeout); c.frames.Load() != heard {
		sleep(finishTimeout)
	}
	if c.files.Load() != nil { // files.clock ends the call
		return
	}
	c.restore()
	syscall.Exit(c.fail(wire.CodeTimeout, noAnswer, "docker hostexec status on the host"))
}

// continueAfter continues this process after d, if it is stopped then. Only the kernel can do that: a stopped process
// runs no code. So a call on which a caller has typed ^Z ends at its time limit, too.
func continueAfter(d time.Duration) {
	event := struct { // struct sigevent; zeros mean that the timer sends a signal
		value          uintptr
		signal, notify int32
		pad            [13]int32
	}{signal: int32(syscall.SIGCONT)}
	when := [2]syscall.Timespec{1: syscall.NsecToTimespec(int64(d))} // once
	var id int32
	const monotonic = 1 // CLOCK_MONOTONIC
	syscall.RawSyscall(syscall.SYS_TIMER_CREATE, monotonic, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&id)))
	syscall.RawSyscall6(syscall.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(&when)), 0, 0, 0)
}

const noAnswer = "timeout waiting for host to execute command"
