// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

func (a controlAPI) Shells() []shell.Info         { return a.s.Calls.Server.Shells.List() }
func (a controlAPI) RemoveShell(name string) bool { return a.s.Calls.Server.Shells.Remove(name) }

func (a controlAPI) InterruptText(request, signal string) bool {
	return a.s.Calls.Server.InterruptText(request, signal)
}

func (a controlAPI) CreateShell(ctx context.Context, name string, o control.ShellOptions) (err error) {
	opts := shell.Options{Env: o.Env, Dir: o.Dir}
	if o.In != "" {
		if opts.In, err = a.s.Calls.Containers.find(ctx, o.In, false); err != nil {
			return err
		}
	}
	return a.s.Calls.Server.CreateShell(name, opts)
}

// RunShell runs a command for a person on the host. It ends with the session, too.
func (a controlAPI) RunShell(ctx context.Context, by, name string, c shell.Command, o shell.Output) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	over := make(chan struct{})
	defer close(over)
	// ends with the command, or the session.
	watch.Go(func() {
		select {
		case <-a.s.Life.done:
			cancel(ErrStopped)
		case <-over:
		}
	})
	return a.s.Calls.Server.RunShell(ctx, by, name, c, o)
}
