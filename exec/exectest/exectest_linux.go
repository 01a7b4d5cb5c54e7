// SPDX-License-Identifier: Apache-2.0

// Package exectest has helpers for the tests of several packages on Linux.
package exectest

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Eventually waits until cond holds. It is for conditions without an event, such as the state of other
// processes.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !cond(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// ProcessExists reports whether a process has this PID. It may be a zombie.
func ProcessExists(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }

// FIFO creates a named pipe and returns its path.
func FIFO(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
