// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// killEngine is an engine that answers with these errors, and whose container runs or not after the kill.
type killEngine struct {
	watch.Engine
	kill, update error
	runs         bool
}

func (e *killEngine) ContainerKill(context.Context, string, string) error { return e.kill }

func (e *killEngine) ContainerUpdate(context.Context, string, container.UpdateConfig) (container.UpdateResponse, error) {
	return container.UpdateResponse{}, e.update
}

func (e *killEngine) ContainerInspect(context.Context, string) (container.InspectResponse, error) {
	return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{State: &container.State{Running: e.runs}}}, nil
}

// TestKillOutcome checks what is reported of each step that fails: a container that is down was killed.
func TestKillOutcome(t *testing.T) {
	c := container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{ID: "id",
		HostConfig: &container.HostConfig{RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyAlways}}}}
	bad := errors.New("no space left on device")
	for _, tt := range []struct {
		name       string
		api        killEngine
		done, next string
	}{
		{"killed", killEngine{}, "was killed", ""},
		{"it had ended", killEngine{kill: errdefs.ErrConflict}, "was killed", ""},
		{"the policy stays", killEngine{update: bad}, "was killed", ", but it may start again with the engine: no space left on device: docker update --restart no web prevents that"},
		{"removed before the change", killEngine{update: errdefs.ErrNotFound}, "was killed", ""},
		{"an error, and it has ended", killEngine{kill: bad}, "was killed", ""},
		{"it runs on", killEngine{runs: true}, "could not be killed", ": it still runs: remove it with docker rm -f web"},
		{"no kill", killEngine{kill: bad, update: bad, runs: true}, "could not be killed", ": no space left on device: remove it with docker rm -f web"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), killTimeout)
				defer cancel()
				if done, next := killAndDescribe(ctx, &tt.api, c, "web"); done != tt.done || next != tt.next {
					t.Errorf("outcome = %q, %q, want %q, %q", done, strings.TrimSpace(next), tt.done, tt.next)
				}
			})
		})
	}
}
