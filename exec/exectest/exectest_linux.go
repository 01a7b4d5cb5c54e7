// SPDX-License-Identifier: Apache-2.0

// Package exectest has what the tests of several packages need on Linux.
package exectest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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

// Exchange swaps the files at two paths again and again, until the process ends.
func Exchange(a, b string) {
	for {
		unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	}
}

// InOwnMounts runs the calling test again in a mount namespace of its own, and reports whether this is
// that run. Other processes do not see its mounts, which end with it.
func InOwnMounts(t *testing.T) bool {
	t.Helper()
	const mark = "HOSTEXEC_TEST_OWN_MOUNTS"
	if os.Getenv(mark) != "" {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("in a mount namespace of its own: %v\n%s", err, out)
	}
	return false
}
