// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestStateOf(t *testing.T) {
	found := map[string]containerState{"r": {state: "running"}, "p": {state: "paused"}, "s": {state: "restarting"},
		"e": {state: "exited"}, "c": {state: "created"}, "d": {state: "dead"}}
	for id, want := range map[string]string{
		"r": StateLost, "p": StateLost, "s": StateLost, "e": StateExited, "c": StateExited, "d": StateExited, "x": StateGone, "": StateGone,
	} {
		if got := stateOf(id, found, false); got != want {
			t.Errorf("stateOf(%q) = %q, want %q", id, got, want)
		}
		if want == StateLost {
			want = StateStopped
		}
		if got := stateOf(id, found, true); got != want {
			t.Errorf("stateOf(%q) of a session that was stopped = %q, want %q", id, got, want)
		}
	}
	if got := stateOf("r", nil, true); got != StateUnknown {
		t.Errorf("without an engine: %q, want %q, or prune would remove what is not gone", got, StateUnknown)
	}
	if got := watchedState(state.Session{}, StateRunning); got != StateWaiting {
		t.Errorf("before the container is made: %q, want %q", got, StateWaiting)
	}
}
