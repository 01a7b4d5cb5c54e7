// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// What a killed watcher and a killed keeper have left ends when the state is opened next, but not while
// the keeper runs.
func TestOpenStore(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	store, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	id := state.NewID()
	dir := store.Dir(id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{state.ControlSock(dir), state.LockFile(dir)} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := exec.Command("sleep", "1000")
	left.Env = append(os.Environ(), proctree.SessionMarker+"="+id)
	script := filepath.Join(t.TempDir(), "keeper")
	if err := os.WriteFile(script, []byte("read line"), 0o600); err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command("/bin/sh")
	keeper.Args = []string{proctree.KeeperName, script, dir}
	lifeline, err := keeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{left, keeper} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	defer left.Process.Kill() // it may have ended
	if _, err := OpenStore(); err != nil {
		t.Fatal(err)
	}
	if err := left.Process.Signal(syscall.Signal(0)); err != nil || !exists(state.ControlSock(dir)) {
		t.Errorf("with a keeper: %v, socket %v", err, exists(state.ControlSock(dir)))
	}
	lifeline.Close()
	keeper.Wait() // its exit status is that of read
	if _, err := OpenStore(); err != nil {
		t.Fatal(err)
	}
	left.Wait() // ends if it was ended
	if got := left.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGTERM || exists(state.ControlSock(dir)) {
		t.Errorf("without a keeper: %v, socket %v", got, exists(state.ControlSock(dir)))
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
