// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
)

// Several containers may have the share of one service, and not all are made alike: docker compose
// run --volume says more of one. All can call as soon as they run.

// mindOthers returns when ctx is done, or with an error when a container of the service's
// is there that preflight refuses: it is told of each before it starts. Others that run get a
// relay of their own, where that is how calls come, for their run or life.
func (w *Watcher) mindOthers(ctx, life context.Context, api Engine) error {
	made := w.mine()
	made.Add("event", string(events.ActionCreate))
	made.Add("event", string(events.ActionStart))
	for wait := absent; ; wait = min(2*wait, unheard) {
		told, failed := api.Events(ctx, events.ListOptions{Since: "0", Filters: made}) // as in keepName
		if err := w.serveOthers(ctx, life, api); err != nil {
			return err
		}
		for over := false; !over; {
			select {
			case <-told:
				if err := w.serveOthers(ctx, life, api); err != nil {
					return err
				}
				wait = absent
			case err := <-failed:
				w.log.Debug("hear of other containers", "error", err)
				over = true
			}
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
}

func (w *Watcher) serveOthers(ctx, life context.Context, api Engine) error {
	run, err := w.lookAtAll(ctx, api)
	for _, id := range run {
		if err == nil && id != w.rec.Container {
			w.relayBeside(life, api, id)
		}
	}
	return err
}

// lookAtAll refuses what is in the way of preflight among the service's containers, those that
// are about to start with them, and returns those that run. An engine that is away starts none.
func (w *Watcher) lookAtAll(ctx context.Context, api Engine) (run []string, err error) {
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: w.mine()})
	if err != nil {
		w.log.Debug("look for other containers", "error", err)
		return nil, nil
	}
	for _, s := range list {
		if s.State == container.StateExited || s.State == container.StateDead {
			continue // looked at when it starts
		}
		c, err := inspect(ctx, api, s.ID)
		if err != nil || !w.has(c) {
			continue // as in look
		}
		if err := w.preflight(c); err != nil {
			return nil, fmt.Errorf("container %s: %w", strings.TrimPrefix(c.Name, "/"), err)
		}
		if c.State.Running {
			run = append(run, c.ID)
		}
	}
	return run, nil
}
