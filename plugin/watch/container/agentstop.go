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

// agentStopper ends the container of an agent.
type agentStopper struct {
	s         *watch.Session
	leftovers leftovers
}

// stop ends the agent's container when AgentEnd asks for it. Then the agent's caller removes the container and ends the
// session. If it does not in time, stop does so.
func (a agentStopper) stop(ctx context.Context, api watch.Engine, id string, conn *watch.LauncherConn) {
	select {
	case <-a.s.Life.Agent.Asked.Done():
	case <-ctx.Done():
		return
	}
	conn.Stopping()
	a.terminate(ctx, api, id)
	if watch.Pause(ctx, removeTimeout) {
		a.s.Life.Stop(a.leftovers.endAbandoned(ctx, api, id))
	}
}

// terminate lets the engine send TERM, and KILL at the agent's deadline.
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

// removeTimeout is the time limit for an agent's caller to remove the container.
const removeTimeout = 10 * time.Second

// unlimited means that the engine sends no KILL after TERM.
const unlimited = -1
