// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/shell"
)

// Shells implements control.ShellHost.
func (w *Watcher) Shells() []shell.Info { return w.server.Shells.List() }

// CreateShell implements control.ShellHost.
func (w *Watcher) CreateShell(name string, o shell.Options) error {
	return w.server.CreateShell(name, o)
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
