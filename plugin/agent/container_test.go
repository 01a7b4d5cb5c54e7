// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/docker/docker/api/types/container"
)

// waited fakes an engine that is asked a second time for the exit code.
type waited struct {
	Engine
	code   int64
	states *[]container.State // one after the other; the last stays
}

func (e waited) ContainerInspect(context.Context, string) (container.InspectResponse, error) {
	state := (*e.states)[0]
	if len(*e.states) > 1 {
		*e.states = (*e.states)[1:]
	}
	return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{State: &state}}, nil
}

func (e waited) ContainerWait(context.Context, string, container.WaitCondition) (<-chan container.WaitResponse, <-chan error) {
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
		{"a code with what went wrong at its end", container.WaitResponse{StatusCode: 3, Error: &container.WaitExitError{Message: "why"}}, nil, 3},
		{"no code", container.WaitResponse{StatusCode: -1, Error: &container.WaitExitError{Message: "context canceled"}}, []container.State{running}, 7},
		{"no code, and no reason", container.WaitResponse{StatusCode: -1}, []container.State{running}, 7},
		{"no code, and it has ended", container.WaitResponse{StatusCode: -1}, []container.State{exited}, 5},
		{"an engine that went away", errors.New("EOF"), []container.State{running}, 7},
		{"an engine that went away before the start", errors.New("EOF"), []container.State{created, created, exited}, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			done, failed := make(chan container.WaitResponse, 1), make(chan error, 1)
			switch first := tt.first.(type) {
			case container.WaitResponse:
				done <- first
			case error:
				failed <- first
			}
			c := &ContainerAgent{API: waited{code: 7, states: &tt.states}, Log: func(string, ...any) {}}
			if got := c.await(t.Context(), done, failed); got != tt.want {
				t.Errorf("%s: await = %d, want %d", tt.name, got, tt.want)
			}
		})
	}
}
