// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestSecondWatcher starts a watcher for a session that another watcher serves. The session has no container, for
// example because docker hostexec proxy has started it. The second watcher leaves its directory alone.
func TestSecondWatcher(t *testing.T) {
	_, folder := recorded(t, &state.Session{Proxy: &state.Proxy{}})
	first := state.NewLock(state.LockFile(folder))
	defer first.Close()
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	launcher := os.NewFile(uintptr(fds[0]), "launcher")
	defer launcher.Close()
	if _, err := launcher.WriteString("recorded\n"); err != nil {
		t.Fatal(err)
	}
	if err := (&Watcher{Dir: folder}).Run(t.Context(), os.NewFile(uintptr(fds[1]), "watcher")); err == nil {
		t.Error("the second watcher ended without an error")
	}
	if _, err := os.Lstat(folder); err != nil {
		t.Errorf("the session of the first watcher: %v", err)
	}
}
