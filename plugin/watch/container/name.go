// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// engineSilence is how long an engine that tells of nothing is left alone, at most.
const engineSilence = time.Minute

// nameFollower has the session go by the name of its container.
type nameFollower struct {
	calls   *watch.Calls
	log     *slog.Logger
	started func() // called when the container may have started
}

// follow has the session go by the name of container id, whatever that is changed to,
// until ctx is done. The engine also tells of the container's starts here.
func (n nameFollower) follow(ctx context.Context, api watch.Engine, id string) {
	filter := filters.NewArgs(filters.Arg("container", id), filters.Arg("event", string(events.ActionRename)), filters.Arg("event", string(events.ActionStart)))
	wanted := events.ListOptions{Since: "0", Filters: filter} // what happens while the engine takes note is told, too
	for wait := watch.EnginePoll; ; wait = min(2*wait, engineSilence) {
		told, failed := api.Events(ctx, wanted)
		for over := false; !over; {
			select {
			case event := <-told:
				if event.Action == events.ActionStart {
					n.started()
				} else {
					n.note(ctx, api, id)
				}
				wait = watch.EnginePoll
			case err := <-failed:
				n.log.Debug("hear of renames", "error", err)
				over = true
			}
		}
		if !watch.Pause(ctx, wait) {
			return
		}
	}
}

// note has the session go by the name that the container has now. Events are of the
// past: what the engine says now is the name.
func (n nameFollower) note(ctx context.Context, api watch.Engine, id string) {
	c, err := api.ContainerInspect(ctx, id)
	if err != nil {
		return // gone, or the engine is
	}
	n.calls.Rename(strings.TrimPrefix(c.Name, "/"))
}
