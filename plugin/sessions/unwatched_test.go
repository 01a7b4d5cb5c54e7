// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"os"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

var someDay = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestPrunable(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Session
		want bool
	}{
		{"gone", Session{State: StateGone, Session: state.Session{Container: "c", Created: someDay}}, true},
		{"exited", Session{State: StateExited, Session: state.Session{Container: "c"}}, false},
		{"unknown", Session{State: StateUnknown, Session: state.Session{Container: "c"}}, false},
		{"being made", Session{State: StateGone, Session: state.Session{Created: someDay.Add(-time.Second)}}, false},
		{"never made", Session{State: StateGone, Session: state.Session{Created: someDay.Add(-time.Hour)}}, true},
	} {
		if got := Prunable(&state.Store{Home: t.TempDir()}, tt.s, someDay); got != tt.want {
			t.Errorf("%s: prunable = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPrunableAnswering: the process that answers the callers of a killed watcher holds the session's lock for a
// moment. That is no watcher.
func TestPrunableAnswering(t *testing.T) {
	store := &state.Store{Home: t.TempDir()}
	s := Session{State: StateGone, Session: state.Session{ID: "00aa00aa00aa00aa", Created: someDay, Agent: &state.Agent{Mode: "process"}}}
	for _, dir := range []string{store.Dir(s.ID), state.JobsDir(store.Dir(s.ID))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock := flock.New(state.LockFile(store.Dir(s.ID)))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = lock.Close() })
	if !Prunable(store, s, someDay) {
		t.Error("the session is taken for a watched one")
	}
}
