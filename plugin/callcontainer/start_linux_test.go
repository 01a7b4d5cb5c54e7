// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// hangingEngine is an engine that does not answer one kind of requests. All other requests panic.
type hangingEngine struct {
	Engine
	hangs   string // create or start
	removed []string
}

func (e *hangingEngine) request(ctx context.Context, kind string) error {
	if e.hangs != kind {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (e *hangingEngine) Info(context.Context) (system.Info, error) { return system.Info{}, nil }

func (e *hangingEngine) ContainerCreate(ctx context.Context, _ *container.Config, _ *container.HostConfig, _ *network.NetworkingConfig, _ *ocispec.Platform, _ string) (container.CreateResponse, error) {
	if err := e.request(ctx, "create"); err != nil {
		return container.CreateResponse{}, err
	}
	return container.CreateResponse{ID: "id"}, nil
}

func (e *hangingEngine) ContainerWait(context.Context, string, container.WaitCondition) (<-chan container.WaitResponse, <-chan error) {
	return nil, nil
}

func (e *hangingEngine) ContainerStart(ctx context.Context, _ string, _ container.StartOptions) error {
	return e.request(ctx, "start")
}

func (e *hangingEngine) ContainerRemove(ctx context.Context, id string, _ container.RemoveOptions) error {
	e.removed = append(e.removed, id)
	return nil
}

// TestStartTimeout checks that a timeout ends a call while the engine hangs, and that the container is removed later.
func TestStartTimeout(t *testing.T) {
	for _, kind := range []string{"create", "start"} {
		dir := t.TempDir()
		program := filepath.Join(dir, "init")
		if err := os.WriteFile(program, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			api := &hangingEngine{hangs: kind}
			r := &Containers{Dir: filepath.Join(dir, "calls"), Program: program, Log: slog.New(slog.DiscardHandler), Engine: func(string) (Engine, error) { return api, nil }}
			why := errors.New("too late")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
			defer cancel()
			begun := time.Now()
			_, err := r.Runner(Spec{}).Start(ctx, executor.Command{ID: "c", Args: []string{"true"}}, [3]int{}, nil)
			if d := time.Since(begun); err != why || d != time.Second {
				t.Errorf("%s: %v after %v", kind, err, d)
			}
			r.Close()
			if len(api.removed) == 0 || len(r.running)+len(r.creating) > 0 {
				t.Errorf("%s: removed are %v, %d run, %d are created", kind, api.removed, len(r.running), len(r.creating))
			}
		})
		if _, err := os.Stat(filepath.Join(dir, "calls", "c")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory is left: %v", kind, err)
		}
	}
}
