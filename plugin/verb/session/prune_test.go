// SPDX-License-Identifier: Apache-2.0

package session

import (
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
	if err := sweepRecordless(store, []state.Session{gone, unreadable}, &out); err != nil || out.String() != "" {
		t.Errorf("prune removes %q, %v", out.String(), err)
	}
	if err := sweepRecordless(store, nil, &out); err != nil || out.String() != gone.ID+"\n" {
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
