// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A watcher may run and send no answer, or an incomplete one. Then its session is not lost, and is not removed.
//
// Attack 213.
func TestSilentWatcher(t *testing.T) {
	sessionstest.Silent(t, func(t *testing.T, store *state.Store, recs []state.Session) {
		for _, s := range States(t.Context(), nil, store, recs) {
			if s.State != StateUnknown || s.Unanswered() == nil || s.Watcher != nil {
				t.Errorf("it is %s, %v", s.State, s.Unanswered())
			}
			if Prunable(store, s, time.Now()) {
				t.Error("prune removes it")
			}
		}
	})
}
