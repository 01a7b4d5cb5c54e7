// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestStartOfDevContainer checks that start refuses a stopped dev container, and says what starts it. Since services of
// docker compose have the sessions of their containers, the message does not name them.
func TestStartOfDevContainer(t *testing.T) {
	rec := state.Session{ID: "5f0c1a2b3c4d", ContainerName: "dev", DevContainer: &state.DevContainer{}}
	err := startSession(t.Context(), nil, nil, sessions.Session{Session: rec, State: sessions.StateExited})
	if want := "container dev is a dev container"; err == nil || err.Error() != want {
		t.Fatalf("startSession = %v, want %s", err, want)
	}
	if hint, want := cli.HintOf(err), "start it with its tool; if its session is lost then: docker hostexec resume 5f0c1a2b3c4d"; hint != want {
		t.Errorf("the hint is %q, want %q", hint, want)
	}
}
