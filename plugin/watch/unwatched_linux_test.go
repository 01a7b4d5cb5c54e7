// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestEndUnwatchedWithin: a command of the session itself does not make the others forgotten.
func TestEndUnwatchedWithin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "00aa00aa00aa00aa")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sock := state.ControlSock(dir)
	if err := os.WriteFile(sock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := EndUnwatched(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(state.LockFile(dir)); !os.IsNotExist(err) {
		t.Errorf("a lock came back in a folder that is being removed: %v", err)
	}
	if err := os.WriteFile(state.LockFile(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, id := state.StoreOf(dir)
	t.Setenv(proctree.SessionMarker, id)
	if err := EndUnwatched(dir); err == nil {
		t.Error("EndUnwatched from within = nil")
	}
	if _, err := os.Lstat(sock); err != nil {
		t.Errorf("from then on nobody ends them: %v", err)
	}
	os.Unsetenv(proctree.SessionMarker)
	if err := EndUnwatched(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(sock); !os.IsNotExist(err) {
		t.Errorf("after a sweep: %v, want that it is gone", err)
	}
}
