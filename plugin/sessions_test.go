// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestStateOf(t *testing.T) {
	found := map[string]seen{"r": {state: "running"}, "p": {state: "paused"}, "s": {state: "restarting"},
		"e": {state: "exited"}, "c": {state: "created"}, "d": {state: "dead"}}
	for id, want := range map[string]string{
		"r": stateLost, "p": stateLost, "s": stateLost, "e": stateExited, "c": stateExited, "d": stateExited, "x": stateGone, "": stateGone,
	} {
		if got := stateOf(id, found, false); got != want {
			t.Errorf("stateOf(%q) = %q, want %q", id, got, want)
		}
		if want == stateLost {
			want = stateStopped
		}
		if got := stateOf(id, found, true); got != want {
			t.Errorf("stateOf(%q) of a session that was stopped = %q, want %q", id, got, want)
		}
	}
	if got := stateOf("r", nil, true); got != stateUnknown {
		t.Errorf("without an engine: %q, want %q, or prune would remove what is not gone", got, stateUnknown)
	}
	if got := watchedState(state.Session{}, stateRunning); got != stateWaiting {
		t.Errorf("before the container is made: %q, want %q", got, stateWaiting)
	}
}
