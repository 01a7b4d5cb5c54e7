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
