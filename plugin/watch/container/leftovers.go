// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// leftovers ends and removes the objects that a killed launcher has left at the engine.
type leftovers struct {
	record *watch.Record
	log    *slog.Logger
}

// removeContainers removes the containers that run has created. Until timeout it searches again, because the engine may
// still create one.
func (l leftovers) removeContainers(ctx context.Context, api watch.Engine, timeout time.Duration) {
	own := filters.NewArgs(filters.Arg("label", state.Label+"="+l.record.ID))
	for deadline := time.Now().Add(timeout); ; {
		list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: own})
		if err != nil {
			l.log.Warn("look for leftovers of a killed run", "error", err)
		}
		for _, c := range list {
			l.remove(ctx, api, c.ID)
		}
		if time.Now().After(deadline) || !watch.Pause(ctx, watch.Poll) {
			if l.record.Session().Relay {
				l.removeVolumes(api)
			}
			return
		}
	}
}

// removeVolumes removes the volumes with the session's share.
func (l leftovers) removeVolumes(api watch.Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the session's context may be done
	defer cancel()
	own := filters.NewArgs(filters.Arg("label", state.Label+"="+l.record.ID))
	list, err := api.VolumeList(ctx, volume.ListOptions{Filters: own})
	for _, v := range list.Volumes {
		err = errors.Join(err, api.VolumeRemove(ctx, v.Name, false))
	}
	if err != nil {
		l.log.Warn("remove the volume", "error", err)
	}
}

// removeUnstarted removes container id if the launcher that has created it was killed before the start.
func (l leftovers) removeUnstarted(ctx context.Context, api watch.Engine, id string) error {
	for deadline := time.Now().Add(pendingTimeout); ; {
		c, err := api.ContainerInspect(ctx, id)
		switch {
		case errdefs.IsNotFound(err):
			return watch.ErrGone
		case err == nil && c.State.Status != container.StateCreated:
			return nil
		case time.Now().After(deadline):
			l.remove(ctx, api, id)
			return watch.ErrGone
		}
		if !watch.Pause(ctx, watch.Poll) {
			return context.Cause(ctx)
		}
	}
}

// endAbandoned ends the container of an agent whose caller was killed. It returns the result of awaitRemoval.
func (l leftovers) endAbandoned(ctx context.Context, api watch.Engine, id string) error {
	seconds := int(watch.AgentGrace / time.Second)
	if err := api.ContainerStop(ctx, id, container.StopOptions{Timeout: &seconds}); err != nil && !errdefs.IsNotFound(err) {
		l.log.Warn("stop the agent's container", "error", err)
	}
	c, err := api.ContainerInspect(ctx, id)
	if err == nil && (!l.record.Session().Agent.Keep || c.State.Status == container.StateCreated) {
		l.remove(ctx, api, id)
	}
	return l.awaitRemoval(ctx, api, id)
}

// awaitRemoval returns ErrGone if a container was removed, and ErrExited if it has only ended. It waits for a removal
// by another client.
func (l leftovers) awaitRemoval(ctx context.Context, api watch.Engine, id string) error {
	for deadline := time.Now().Add(pendingTimeout); ; {
		_, err := api.ContainerInspect(ctx, id)
		switch {
		case errdefs.IsNotFound(err):
			return watch.ErrGone
		case l.record.Session().Agent.Keep || time.Now().After(deadline) || !watch.Pause(ctx, watch.Poll):
			return watch.ErrExited
		}
	}
}

func (l leftovers) remove(ctx context.Context, api watch.Engine, id string) {
	if err := callcontainer.Remove(ctx, api, id); err != nil {
		l.log.Warn("remove leftover", "container", id, "error", errors.Unwrap(err))
	}
}
