// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestFixKeepsRebuiltSession checks that no advice of doctor removes a session directory that a container may mount.
func TestFixKeepsRebuiltSession(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gone, unreadable := sessionstest.Unreadable(t, store)
	recs := []state.Session{gone, unreadable}
	d := &doctor{store: store}
	for name, tt := range map[string]struct {
		recs     []state.Session
		answered bool
		want     string
	}{
		"containers tell of both": {recs, true, ""},
		"no container":            {nil, true, "rm -r " + store.Dir(unreadable.ID)},
		"an engine is silent":     {nil, false, "docker hostexec doctor, when the engine answers"},
	} {
		var left leftovers
		d.recordless(&left, tt.recs, tt.answered)
		fixes := strings.Join(left.fixes, "; ")
		if tt.want == "" && fixes != "" || !strings.Contains(fixes, tt.want) || !tt.answered && strings.Contains(fixes, "rm -r") {
			t.Errorf("%s: %q, want %q", name, fixes, tt.want)
		}
	}
	var left leftovers
	d.unserved(&left, sessions.Session{Session: recs[1], State: sessions.StateLost})
	if got := strings.Join(left.fixes, "; "); !strings.Contains(got, "docker rm -f web") {
		t.Errorf("for a session that a container names: %q", got)
	}
}
