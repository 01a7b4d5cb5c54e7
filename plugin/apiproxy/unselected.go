// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/state"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// createdUnselected removes container id, which is not selected, if it mounts a part of the state directory.
func (l *SessionLauncher) createdUnselected(ctx context.Context, id string, labels map[string]string) error {
	if id == "" {
		return nil
	}
	err := l.refuseState(ctx, id, labels)
	if err != nil {
		err = errors.Join(err, callcontainer.Remove(ctx, l.cli.Client(), id))
	}
	return err
}

// refuseState returns an error if container id, which has no session of a SessionLauncher, mounts a part of the state
// directory. With the share of another container's session (volumes_from), it could call that container's commands. A
// container may mount the share of its own session, which a client such as docker hostexec run has created. The id of a
// dev container's session is not secret, and such a container has no state.Label.
func (l *SessionLauncher) refuseState(ctx context.Context, id string, labels map[string]string) error {
	api := l.cli.Client()
	rec, err := l.store.Load(labels[state.Label])
	if err == nil && rec.DevContainer == nil && (rec.Container == "" || rec.Container == id) {
		rec.Container = id
		c, ierr := api.ContainerInspect(ctx, id)
		if err = ierr; err == nil {
			err = watchcontainer.Preflight(ctx, api, l.store, rec, c)
		}
	} else {
		err = watchcontainer.RefuseMountOf(ctx, api, id, l.store.Home)
	}
	if err != nil {
		return fmt.Errorf("a container that is not selected: %w", err)
	}
	return nil
}
