// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// TestAwaitCheck has a check that waits for a file system that does not answer. The end of the launcher or of the session
// must end the wait: run hung until the third TERM, and its watcher stayed.
func TestAwaitCheck(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name   string
		before func(end chan<- string, stop context.CancelCauseFunc, checked chan<- error)
		want   error
	}{
		{"checked", func(_ chan<- string, _ context.CancelCauseFunc, checked chan<- error) { checked <- refused }, refused},
		{"no launcher", func(end chan<- string, _ context.CancelCauseFunc, _ chan<- error) { close(end) }, errNotAwaited},
		{"aborted", func(end chan<- string, _ context.CancelCauseFunc, _ chan<- error) { end <- "abort" }, errNotAwaited},
		{"stopped", func(_ chan<- string, stop context.CancelCauseFunc, _ chan<- error) { stop(watch.ErrStopped) }, watch.ErrStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, checked := make(chan string, 1), make(chan error, 1)
			ctx, stop := context.WithCancelCause(context.Background())
			defer stop(nil)
			tt.before(lines, stop, checked)
			err := awaitCheck(ctx, &watch.LauncherConn{Lines: lines}, func() error { return <-checked })
			if !errors.Is(err, tt.want) {
				t.Errorf("awaitCheck = %v, want %v", err, tt.want)
			}
		})
	}
}

// createdEngine is an engine with a container that never starts.
type createdEngine struct {
	watch.Engine
	removed bool
}

func (*createdEngine) ContainerInspect(context.Context, string) (container.InspectResponse, error) {
	return createdContainer("id"), nil
}

func (e *createdEngine) ContainerRemove(context.Context, string, container.RemoveOptions) error {
	e.removed = true
	return nil
}

func createdContainer(id string) container.InspectResponse {
	return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{ID: id, State: &container.State{Status: container.StateCreated}}}
}

// TestReadContainerEnds ends a launcher before it has named the session's container. A container of the record is a
// user's own. It was removed with all that has the session's label, and so was the session.
func TestReadContainerEnds(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	record := watch.NewRecord(&state.Store{}, state.Session{Container: "id"}, log)
	m := &Mode{s: &watch.Session{Record: record, Engine: func() (watch.Engine, error) {
		t.Error("the engine is asked for containers to remove")
		return nil, errors.ErrUnsupported
	}}, leftovers: leftovers{record, log}}
	for _, line := range []string{"", "abort", "done"} {
		lines := make(chan string, 1)
		lines <- line
		if _, _, err := m.readContainer(t.Context(), &watch.LauncherConn{Lines: lines}); !errors.Is(err, errNotAwaited) || errors.Is(err, watch.ErrGone) {
			t.Errorf("readContainer after %q = %v, want %v", line, err, errNotAwaited)
		}
	}
}

// TestCheckNotAwaited ends the launcher of a container that has never run while its mounts are checked. A container that
// the launcher has created is removed. A user's own container, for example of docker hostexec start, was removed, too.
// It stays, and so do the files of its session, which it needs for its next start.
func TestCheckNotAwaited(t *testing.T) {
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			rec := state.Session{}
			if !own {
				rec.Container = "id"
			}
			log := slog.New(slog.DiscardHandler)
			record := watch.NewRecord(&state.Store{}, rec, log)
			m := &Mode{s: &watch.Session{Record: record}, leftovers: leftovers{record, log}}
			api := &createdEngine{}
			err := m.checkFailed(t.Context(), api, createdContainer("id"), &watch.LauncherConn{}, errNotAwaited)
			if api.removed != own || errors.Is(err, watch.ErrGone) != own {
				t.Errorf("created by the launcher: %v: removed %v, %v", own, api.removed, err)
			}
		})
	}
}
