// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/docker/docker/api/types/container"
)

// fakeEngine fakes an engine that answers a second request for the exit code.
type fakeEngine struct {
	Engine
	code   int64
	states *[]container.State // one after the other; the last stays
}

func (e fakeEngine) ContainerInspect(context.Context, string) (container.InspectResponse, error) {
	state := (*e.states)[0]
	if len(*e.states) > 1 {
		*e.states = (*e.states)[1:]
	}
	return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{State: &state}}, nil
}

func (e fakeEngine) ContainerWait(context.Context, string, container.WaitCondition) (<-chan container.WaitResponse, <-chan error) {
	done := make(chan container.WaitResponse, 1)
	done <- container.WaitResponse{StatusCode: e.code}
	return done, nil
}

// TestAwait checks that an error of the wait request is not taken for an exit code.
func TestAwait(t *testing.T) {
	created := container.State{Status: container.StateCreated}
	running := container.State{Status: container.StateRunning, Running: true}
	exited := container.State{Status: container.StateExited, ExitCode: 5}
	for _, tt := range []struct {
		name   string
		first  any
		states []container.State
		want   int
	}{
		{"an exit code", container.WaitResponse{StatusCode: 255}, nil, 255},
		{"an exit code with an error message", container.WaitResponse{StatusCode: 3, Error: &container.WaitExitError{Message: "why"}}, nil, 3},
		{"no code", container.WaitResponse{StatusCode: -1, Error: &container.WaitExitError{Message: "context canceled"}}, []container.State{running}, 7},
		{"no code and no message", container.WaitResponse{StatusCode: -1}, []container.State{running}, 7},
		{"no code, but the container has ended", container.WaitResponse{StatusCode: -1}, []container.State{exited}, 5},
		{"lost connection to the engine", errors.New("EOF"), []container.State{running}, 7},
		{"lost connection before the start", errors.New("EOF"), []container.State{created, created, exited}, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			done, failed := make(chan container.WaitResponse, 1), make(chan error, 1)
			switch first := tt.first.(type) {
			case container.WaitResponse:
				done <- first
			case error:
				failed <- first
			}
			c := &ContainerAgent{API: fakeEngine{code: 7, states: &tt.states}, Log: func(string, ...any) {}}
			if got := c.await(t.Context(), done, failed); got != tt.want {
				t.Errorf("%s: await = %d, want %d", tt.name, got, tt.want)
			}
		})
	}
}
