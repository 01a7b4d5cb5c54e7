// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestPruneLeavesRebuilt checks that prune keeps the directory of a session if the labels of a container name it.
func TestPruneLeavesRebuilt(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gone, unreadable := sessionstest.Unreadable(t, store)
	var out strings.Builder
	if err := pruneRecordless(store, []state.Session{gone, unreadable}, removals{&out, io.Discard}); err != nil || out.String() != "" {
		t.Errorf("prune removes %q, %v", out.String(), err)
	}
	if err := pruneRecordless(store, nil, removals{&out, io.Discard}); err != nil || out.String() != gone.ID+"\n" {
		t.Errorf("without a container prune removes %q, %v", out.String(), err)
	}
}

// TestPruneWithoutEngine checks that prune keeps directories without a record if an engine does not answer: a container
// may mount them.
func TestPruneWithoutEngine(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOSTEXEC_HOME", home)
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	store, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	gone, _ := sessionstest.Unreadable(t, store)
	var out strings.Builder
	if err := runPrune(t.Context(), clitest.New(t, &out), true, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(store.Dir(gone.ID)); err != nil || out.String() != "" {
		t.Errorf("prune removes %q: %v", out.String(), err)
	}
}

// TestPruneRefused answers no: what sessions without a watcher have left running ends all the same, and nothing is
// removed. Without a control socket, a session counts as ended.
func TestPruneRefused(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	store, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Session{ID: state.NewID()}
	if err := store.Create(&rec); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{state.ControlSock(store.Dir(rec.ID)), state.LockFile(store.Dir(rec.ID))} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := runPrune(t.Context(), clitest.New(t, io.Discard), false, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(state.ControlSock(store.Dir(rec.ID))); !os.IsNotExist(err) {
		t.Errorf("the session counts as running: %v", err)
	}
	if _, err := store.Load(rec.ID); err != nil {
		t.Errorf("the session was removed: %v", err)
	}
}

// TestRemovalsProgress checks that the counter shows each removal, and is erased at the end.
func TestRemovalsProgress(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{state.NewID(), state.NewID()}
	var out, progress strings.Builder
	if err := (removals{&out, &progress}).remove(store, ids); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("removes %q: %v", out.String(), err)
	}
	if got, want := progress.String(), "\rremoved 1 of 2 sessions\rremoved 2 of 2 sessions\r\033[K"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
}
