// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A mark is a number that all processes of a confined command have. Processes that have cleared their environment, left
// their POSIX session and lost their parent have it, too. It is a soft limit RLIMIT_RTTIME. Children inherit it, every
// process may read it (proc_pid_limits(5)), and the sandbox does not let its programs change it. It limits nothing,
// because a confined program has no real-time priority (getrlimit(2)). Zero is no mark.
type mark uint64

// Marks are below maxMark, and below the hard limit. If this is less than minMarks, there are too few of them.
const (
	maxMark  = 1 << 62
	minMarks = 1 << 16
)

// newMark returns the mark of the n-th command.
func newMark(n uint64) (mark, error) {
	var now unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &now); err != nil {
		return 0, os.NewSyscallError("prlimit", err)
	}
	top := min(now.Max, maxMark)
	if top < minMarks {
		return 0, errors.New("the limit of real-time CPU time is too low for a sandbox: ulimit -HR")
	}
	return mark(top - 1 - n%(top/2)), nil
}

// inherited calls fork while this process has the limit m. The caller holds children.mu, so that no other child
// inherits it.
func (m mark) inherited(fork func() error) error {
	if m == 0 {
		return fork()
	}
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &old); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: uint64(m), Max: old.Max}, nil); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	defer unix.Prlimit(0, unix.RLIMIT_RTTIME, &old, nil) // the old limit is always permitted
	return fork()
}

// has reports whether the process has the mark m.
func (m mark) has(pid int) bool {
	if m == 0 {
		return false
	}
	_, line, _ := bytes.Cut(readProcFile("/proc/"+strconv.Itoa(pid)+"/limits"), []byte("\nMax realtime timeout "))
	soft, _, _ := bytes.Cut(bytes.TrimLeft(line, " "), []byte(" "))
	return string(soft) == strconv.FormatUint(uint64(m), 10)
}
