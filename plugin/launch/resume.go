// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Resume starts another watcher for a session that has a container and no watcher. The caller calls Done on the
// connection after the container has started.
func Resume(ctx context.Context, store *state.Store, rec state.Session) (*watch.Conn, error) {
	conn, err := watch.Start(store.Dir(rec.ID), rec.GlobalArgs)
	if err != nil {
		return nil, err
	}
	if err = conn.Recorded(); err == nil {
		err = conn.Ready(ctx)
	}
	if err == nil {
		err = conn.Bind(ctx, rec.Container, rec.Volume)
	}
	if err != nil {
		_ = conn.Done() // its error would be the same
		return nil, err
	}
	StartPage(store, rec, config.Load(config.Source{Store: store.Home, Project: rec.InvokedIn, Workspace: rec.Workspace}))
	return conn, nil
}
