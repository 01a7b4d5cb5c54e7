// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// agentStopper ends the container of an agent that is to end.
type agentStopper struct {
	s         *watch.Session
	leftovers leftovers
}

// stop ends the agent's container when the agent is to end. Then the caller, which follows
// the container, removes it and ends the session; a caller that does not is not waited for.
func (a agentStopper) stop(ctx context.Context, api watch.Engine, id string, link *watch.LauncherLink) {
	select {
	case <-a.s.Life.Agent.Asked.Done():
	case <-ctx.Done():
		return
	}
	link.Stopping()
	a.terminate(ctx, api, id)
	if watch.Pause(ctx, removeTimeout) {
		a.s.Life.Stop(a.leftovers.abandoned(ctx, api, id))
	}
}

// terminate has the engine send TERM, and KILL when the agent's time is up.
func (a agentStopper) terminate(ctx context.Context, api watch.Engine, id string) {
	stopCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.s.Life.Agent.Deadline, cancel)()
	for _, seconds := range []int{unlimited, 0} {
		err := api.ContainerStop(stopCtx, id, container.StopOptions{Timeout: &seconds})
		if err == nil || errdefs.IsNotFound(err) || ctx.Err() != nil {
			return
		}
		if !errors.Is(err, context.Canceled) {
			a.s.Log.Warn("stop the agent's container", "error", err)
		}
		stopCtx = ctx
	}
}

// removeTimeout is how long an agent's caller has to remove a container that has ended.
const removeTimeout = 10 * time.Second

// unlimited makes the engine wait for ever after TERM.
const unlimited = -1
