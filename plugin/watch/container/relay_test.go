// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/watch"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// failedEngine is an engine whose exec has ended, in a container with these numbers of processes.
type failedEngine struct {
	watch.Engine
	exec  container.ExecInspect
	stats string
}

func (e failedEngine) ContainerExecInspect(context.Context, string) (container.ExecInspect, error) {
	return e.exec, nil
}

func (e failedEngine) ContainerStatsOneShot(context.Context, string) (container.StatsResponseReader, error) {
	return container.StatsResponseReader{Body: io.NopCloser(strings.NewReader(e.stats))}, nil
}

// TestStartFailure checks the reason that the host finds for a relay that has sent no Hello.
func TestStartFailure(t *testing.T) {
	pids := func(now, limit uint64) string {
		return fmt.Sprintf(`{"pids_stats":{"current":%d,"limit":%d}}`, now, limit)
	}
	unclear, ended := errors.New("unclear"), fmt.Errorf("no hello: %w", io.EOF)
	engine := errors.New("the engine could not start the relay (exit code 126)")
	for name, tt := range map[string]struct {
		exec  container.ExecInspect
		stats string
		err   error
		want  error
	}{
		"it still runs":                     {container.ExecInspect{Running: true}, pids(5, 5), unclear, unclear},
		"no thread was left":                {container.ExecInspect{ExitCode: wire.CodeFailed}, "", ended, ErrNoProcess},
		"it failed, and sent another text":  {container.ExecInspect{ExitCode: wire.CodeFailed}, "", unclear, unclear},
		"it was killed":                     {container.ExecInspect{ExitCode: 137}, pids(5, 5), ended, ended},
		"no process was left":               {container.ExecInspect{ExitCode: 126}, pids(5, 5), unclear, ErrNoProcess},
		"more processes than a lower limit": {container.ExecInspect{ExitCode: 126}, pids(9, 5), unclear, ErrNoProcess},
		"it cannot be executed":             {container.ExecInspect{ExitCode: 126}, pids(5, 100), unclear, engine},
		"there is no limit":                 {container.ExecInspect{ExitCode: 126}, pids(5, 0), unclear, engine},
		"the numbers are not known":         {container.ExecInspect{ExitCode: 126}, "", unclear, engine},
	} {
		t.Run(name, func(t *testing.T) {
			got := startFailure(t.Context(), failedEngine{exec: tt.exec, stats: tt.stats}, "container", "exec", tt.err)
			if got.Error() != tt.want.Error() {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
