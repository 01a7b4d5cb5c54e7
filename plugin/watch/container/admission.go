// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// The engine opens the sources of mounts by their names when the container starts, so earlier it is unknown which files
// are mounted. No call is answered before they are checked.

// admission delays calls until their container is known and its mounts are checked.
type admission struct {
	containerKnown waitGate                             // closed until a running container is known and checked
	othersUnknown  waitGate                             // closed while the mounts of another container with the share are unknown
	started        chan struct{}                        // tells checkAtStart that the container may have started
	live           atomic.Pointer[propagatingContainer] // the container, if mounts of this host can appear in it
	mounts         *mountCheck
	killer         *killer
	engine         func() (watch.Engine, error)
	life           *watch.Lifetime
}

// admit waits until a call may be answered. It returns false if the session ends.
func (a *admission) admit(ctx context.Context) bool {
	a.mayHaveStarted()
	return a.containerKnown.pass(ctx) && a.othersUnknown.pass(ctx) && a.checkAgain(ctx)
}

// mayHaveStarted reports that the container may have started: the engine has sent an event, or a call has
// arrived.
func (a *admission) mayHaveStarted() {
	select {
	case a.started <- struct{}{}:
	default: // an earlier report is not handled yet
	}
}

// checkAtStart checks the mounts of container id as soon as it runs. Then it admits calls, or ends the session.
// The returned function ends the check at the end of that run.
func (a *admission) checkAtStart(ctx context.Context, api watch.Engine, id string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var check sync.WaitGroup
	// ends with the check, or with ctx.
	check.Go(func() {
		select {
		case <-a.started:
		case <-ctx.Done():
			return
		}
		for wait := watch.Poll / 20; ; wait = min(2*wait, watch.EnginePoll) {
			c, err := inspect(ctx, api, id)
			if err == nil && runs(c) {
				a.checkRunning(ctx, api, c)
				return
			}
			if !watch.Pause(ctx, wait) {
				return
			}
		}
	})
	return func() { cancel(); check.Wait() }
}

// checkRunning admits the calls of a running container, or ends the session.
func (a *admission) checkRunning(ctx context.Context, api watch.Engine, c container.InspectResponse) {
	if err := a.mounts.refuse(c); err != nil {
		a.life.Stop(a.killer.killExposed(ctx, api, c, err))
		return
	}
	a.noteLive(c)
	a.life.Down.Store(false)
	a.containerKnown.open()
}

// propagatingContainer is a container into which mounts of this host propagate while it runs.
type propagatingContainer struct{ container.InspectResponse }

// noteLive makes every call check the mounts again, if mounts of this host can propagate into the running
// container.
func (a *admission) noteLive(c container.InspectResponse) {
	fixed := []mount.Propagation{"", mount.PropagationPrivate, mount.PropagationRPrivate}
	live := slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return !slices.Contains(fixed, m.Propagation) })
	if !live {
		a.live.Store(nil)
		return
	}
	a.live.Store(&propagatingContainer{c})
}

// checkAgain reports whether a call may be answered. It kills the container and ends the session if a protected
// directory has been mounted in the container since the last check.
func (a *admission) checkAgain(ctx context.Context) bool {
	c := a.live.Load()
	if c == nil {
		return true
	}
	err := a.mounts.runningMounts(c.InspectResponse, a.mounts.locateProtected)
	if err == nil {
		return true
	}
	if api, eerr := a.engine(); eerr == nil {
		err = a.killer.killExposed(ctx, api, c.InspectResponse, err)
	}
	a.life.Stop(err)
	return false
}
