// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Resume starts another watcher for a session that has a container and no watcher. The caller calls Done on the
// link after the container has started.
func Resume(ctx context.Context, store *state.Store, rec state.Session) (*watch.Link, error) {
	link, err := watch.Start(store.Dir(rec.ID), rec.GlobalArgs)
	if err != nil {
		return nil, err
	}
	if err = link.Recorded(); err == nil {
		err = link.Ready(ctx)
	}
	if err == nil {
		err = link.Bind(rec.Container, rec.Volume)
	}
	if err != nil {
		_ = link.Done() // its error would be the same
		return nil, err
	}
	StartPage(store, rec, config.Load(config.Source{Store: store.Home, Project: rec.InvokedIn, Workspace: rec.Workspace}))
	return link, nil
}
