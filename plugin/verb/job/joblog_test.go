// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestFollowSilentWatcher follows the output of a job whose watcher does not answer, for example because it is
// suspended. logs -f does not end: the watcher may continue.
func TestFollowSilentWatcher(t *testing.T) {
	sessionstest.Silent(t, func(t *testing.T, store *state.Store, recs []state.Session) {
		for _, rec := range recs {
			if !watched(t.Context(), store.Dir(rec.ID)) {
				t.Errorf("logs -f of session %s ends", rec.ID)
			}
		}
	})
}
