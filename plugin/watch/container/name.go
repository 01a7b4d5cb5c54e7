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
	_ = followEvents(ctx, api, filter, n.log, func(event events.Action) error {
		switch event {
		case events.ActionStart:
			n.started()
		case events.ActionRename:
			n.update(ctx, api, id)
		}
		return nil
	})
}

// followEvents calls f for each of the engine's events that match filter, until ctx is done. It also calls f after each
// subscription, with an empty action, because events before it may be lost. It returns the first error of f.
func followEvents(
	ctx context.Context, api watch.Engine, filter filters.Args, log *slog.Logger, f func(events.Action) error,
) error {
	opts := events.ListOptions{Since: "0", Filters: filter} // events during the subscription are delivered, too
	for wait := watch.EnginePoll; ; wait = min(2*wait, engineSilence) {
		received, failed := api.Events(ctx, opts)
		err := f("")
		for ended := false; err == nil && !ended; {
			select {
			case event := <-received:
				err, wait = f(event.Action), watch.EnginePoll
			case failure := <-failed:
				log.Debug("receive events", "error", failure)
				ended = true
			}
		}
		if err != nil || !watch.Pause(ctx, wait) {
			return err
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
