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
	code int64
}

func (e waited) ContainerWait(context.Context, string, container.WaitCondition) (<-chan container.WaitResponse, <-chan error) {
	done := make(chan container.WaitResponse, 1)
	done <- container.WaitResponse{StatusCode: e.code}
	return done, nil
}

// TestAwait checks that an error of the wait request is not taken for an exit code.
func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first any
		want  int
	}{
		{"an exit code", container.WaitResponse{StatusCode: 255}, 255},
		{"a code with what went wrong at its end", container.WaitResponse{StatusCode: 3, Error: &container.WaitExitError{Message: "why"}}, 3},
		{"no code", container.WaitResponse{StatusCode: -1, Error: &container.WaitExitError{Message: "context canceled"}}, 7},
		{"an engine that went away", errors.New("EOF"), 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			done, failed := make(chan container.WaitResponse, 1), make(chan error, 1)
			switch first := tt.first.(type) {
			case container.WaitResponse:
				done <- first
			case error:
				failed <- first
			}
			c := &Contained{API: waited{code: 7}, Log: func(string, ...any) {}}
			if got := c.await(t.Context(), done, failed); got != tt.want {
				t.Errorf("%s: await = %d, want %d", tt.name, got, tt.want)
			}
		})
	}
}
