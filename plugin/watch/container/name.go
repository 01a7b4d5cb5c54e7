// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"log/slog"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// engineSilence is the maximum pause between attempts to reach an engine that sends no events.
const engineSilence = time.Minute

// nameFollower changes the session's name when its container is renamed.
type nameFollower struct {
	calls   *watch.Calls
	log     *slog.Logger
	started func() // called when the container may have started
}

// follow gives the session the name of container id, and follows changes of it, until ctx is done. It also
// receives the engine's events about the container's starts.
func (n nameFollower) follow(ctx context.Context, api watch.Engine, id string) {
	filter := filters.NewArgs(filters.Arg("container", id), filters.Arg("event", string(events.ActionRename)), filters.Arg("event", string(events.ActionStart)))
	opts := events.ListOptions{Since: "0", Filters: filter} // events during the subscription are delivered, too
	for wait := watch.EnginePoll; ; wait = min(2*wait, engineSilence) {
		renames, failed := api.Events(ctx, opts)
		for ended := false; !ended; {
			select {
			case event := <-renames:
				if event.Action == events.ActionStart {
					n.started()
				} else {
					n.update(ctx, api, id)
				}
				wait = watch.EnginePoll
			case err := <-failed:
				n.log.Debug("receive events of renames", "error", err)
				ended = true
			}
		}
		if !watch.Pause(ctx, wait) {
			return
		}
	}
}

// update gives the session the current name of the container. Events may be old, so it asks the engine.
func (n nameFollower) update(ctx context.Context, api watch.Engine, id string) {
	c, err := api.ContainerInspect(ctx, id)
	if err != nil {
		return // the container or the engine is gone
	}
	n.calls.Rename(nameOf(c))
}
