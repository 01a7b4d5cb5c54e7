// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"os"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// Shells implements control.ShellHost.
func (w *Watcher) Shells() []shell.Info { return w.server.Shells.List() }

// CreateShell implements control.ShellHost.
func (w *Watcher) CreateShell(ctx context.Context, name string, o control.ShellOptions) (err error) {
	opts := shell.Options{Env: o.Env, Dir: o.Dir}
	if o.In != "" {
		if opts.In, err = w.inside(ctx, o.In, false); err != nil {
			return err
		}
	}
	return w.server.CreateShell(name, opts)
}

// inside returns the container ref for a shell to live in; exact wants its name.
func (w *Watcher) inside(ctx context.Context, ref string, exact bool) (shell.Container, error) {
	api, err := w.Engine()
	if err != nil {
		return nil, err
	}
	return container.Find(ctx, api, ref, exact, func(arch string) (*os.File, error) {
		return inject.ShellProgram(w.store.Home, inject.Arch(arch))
	})
}

// insideOf is a scene's Inside.
func (w *Watcher) insideOf(ctx context.Context, name string) (shell.Container, error) {
	return w.inside(ctx, name, true)
}

// RemoveShell implements control.ShellHost.
func (w *Watcher) RemoveShell(name string) bool { return w.server.Shells.Remove(name) }

// RunShell implements control.ShellHost. What runs for the host's own person ends with the
// session too.
func (w *Watcher) RunShell(ctx context.Context, by, name string, c shell.Command, start bool, o shell.Output) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	over := make(chan struct{})
	defer close(over)
	// ends with the command, or the session.
	watch.Go(func() {
		select {
		case <-w.serving:
			cancel(errStopped)
		case <-over:
		}
	})
	return w.server.RunShell(ctx, by, name, c, start, o)
}
