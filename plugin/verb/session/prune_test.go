// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/sessions/sessionstest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Prune does not remove the folder of a session that a container tells of.
func TestPruneLeavesRebuilt(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gone, unreadable := sessionstest.HalfMade(t, store)
	var out strings.Builder
	if err := sweepRecordless(store, []state.Session{gone, unreadable}, &out); err != nil || out.String() != "" {
		t.Errorf("prune removes %q, %v", out.String(), err)
	}
	if err := sweepRecordless(store, nil, &out); err != nil || out.String() != gone.ID+"\n" {
		t.Errorf("without a container prune removes %q, %v", out.String(), err)
	}
}
