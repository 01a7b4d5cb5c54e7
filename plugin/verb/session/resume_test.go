// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestResumable(t *testing.T) {
	for st, ok := range map[string]bool{
		sessions.StateLost: true, sessions.StateStopped: true, sessions.StateRunning: false, sessions.StateWaiting: false, sessions.StateExited: false, sessions.StateGone: false, sessions.StateUnknown: false, "": false,
	} {
		if err := resumable(sessions.Session{State: st}); (err == nil) != ok {
			t.Errorf("resumable(%q) = %v, want ok %v", st, err, ok)
		}
	}
}

// TestResumeOfSilentWatcher checks that a session is not resumed if its watcher does not answer, and that the error
// does not blame the engine.
//
// Attack 213.
func TestResumeOfSilentWatcher(t *testing.T) {
	sessionstest.Silent(t, func(t *testing.T, store *state.Store, recs []state.Session) {
		for _, s := range sessions.States(t.Context(), nil, store, recs) {
			if err := resumable(s); err == nil || strings.Contains(err.Error(), "engine") {
				t.Errorf("resume says %v", err)
			}
		}
	})
}
