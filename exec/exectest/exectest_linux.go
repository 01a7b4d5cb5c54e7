// SPDX-License-Identifier: Apache-2.0

package exectest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// WithoutDescriptors calls f while this process can have no more descriptors.
func WithoutDescriptors(t testing.TB, f func()) {
	t.Helper()
	limit := func(new, old *unix.Rlimit) {
		t.Helper()
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, new, old); err != nil {
			t.Fatal(err)
		}
	}
	var old unix.Rlimit
	limit(nil, &old)
	limit(&unix.Rlimit{Cur: 3, Max: old.Max}, nil)
	defer limit(&old, nil)
	f()
}

// Eventually waits until holds returns true. It is for conditions without an event, such as the state of other
// processes.
func Eventually(t testing.TB, condition string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", condition)
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

// WithFIFO creates a named pipe at path, and returns the error of use. The test fails if use waits for another process.
func WithFIFO(t testing.TB, path string, use func() error) error {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	// ends when use does; the test fails if that needs another process.
	go func() { done <- use() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("the named pipe %s blocks", path)
		return nil
	}
}

// LeasedProgram creates a program under a write lease, so that its exec waits until release is called.
func LeasedProgram(t testing.TB, content []byte) (program string, release func()) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "leased")
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	lease := func(how int) {
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, how); err != nil {
			t.Fatalf("F_SETLEASE: %v", err)
		}
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETSIG, int(unix.SIGURG)); err != nil { // the runtime ignores it
		t.Fatal(err)
	}
	lease(unix.F_WRLCK)
	t.Cleanup(func() { f.Close() })
	return program, func() { lease(unix.F_UNLCK) }
}
