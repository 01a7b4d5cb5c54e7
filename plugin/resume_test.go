// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestResumable(t *testing.T) {
	for st, ok := range map[string]bool{
		stateLost: true, stateStopped: true, stateRunning: false, stateWaiting: false, stateExited: false, stateGone: false, stateUnknown: false, "": false,
	} {
		if err := resumable(session{State: st}); (err == nil) != ok {
			t.Errorf("resumable(%q) = %v, want ok %v", st, err, ok)
		}
	}
}

// TestResumeOfSilentWatcher: a session whose watcher does not answer is not resumed, and the engine is not blamed.
//
// Attack 213.
func TestResumeOfSilentWatcher(t *testing.T) {
	sessionstest.Silent(t, func(t *testing.T, store *state.Store, recs []state.Session) {
		for _, s := range survey(t.Context(), nil, store, recs) {
			if err := resumable(s); err == nil || strings.Contains(err.Error(), "engine") {
				t.Errorf("resume says %v", err)
			}
		}
	})
}
