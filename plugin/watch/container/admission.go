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

// The engine opens the sources of mounts when the container starts, by their names. What it
// has mounted is known only then, so no call is answered before that has been looked at.

// admission says when a call may be answered: when it is known which container it comes from, and what that
// mounts.
type admission struct {
	containerKnown waitGate                      // shut while no container that runs is known and looked at
	othersUnknown  waitGate                      // shut while the mounts of another container with the share are unknown
	started        chan struct{}                 // has a value when the container may have started: checkAtStart
	live           atomic.Pointer[liveContainer] // the container, if mounts of this host can appear in it
	mounts         *mountCheck
	life           *watch.Lifetime
}

// admit waits until a call may be answered. It returns false if it may not: then the session ends.
func (a *admission) admit(ctx context.Context) bool {
	a.mayHaveStarted()
	return a.containerKnown.pass(ctx) && a.othersUnknown.pass(ctx) && a.checkAgain()
}

// mayHaveStarted says that the container may have started: the engine has said so, or a call has come.
func (a *admission) mayHaveStarted() {
	select {
	case a.started <- struct{}{}:
	default: // it has been said, and not been heard yet
	}
}

// checkAtStart looks at the mounts of container id as soon as it runs, and then lets calls in,
// or ends the session. The returned function ends that look, for when that run is over.
func (a *admission) checkAtStart(ctx context.Context, api watch.Engine, id string) (over func()) {
	ctx, cancel := context.WithCancel(ctx)
	var look sync.WaitGroup
	// ends with the look, or with ctx.
	look.Go(func() {
		select {
		case <-a.started:
		case <-ctx.Done():
			return
		}
		for wait := watch.Poll / 20; ; wait = min(2*wait, watch.EnginePoll) {
			c, err := inspect(ctx, api, id)
			if err == nil && runs(c) {
				a.checkRunning(c)
				return
			}
			if !watch.Pause(ctx, wait) {
				return
			}
		}
	})
	return func() { cancel(); look.Wait() }
}

// checkRunning lets the calls of a container in that runs, or ends the session.
func (a *admission) checkRunning(c container.InspectResponse) {
	if err := a.mounts.refuse(c); err != nil {
		a.life.Stop(err)
		return
	}
	a.noteLive(c)
	a.life.Down.Store(false)
	a.containerKnown.open()
}

// liveContainer is a container in which mounts of this host appear while it runs.
type liveContainer struct{ container.InspectResponse }

// noteLive has every call look again at what is mounted in a container that mounts of this host
// can appear in while it runs.
func (a *admission) noteLive(c container.InspectResponse) {
	fixed := []mount.Propagation{"", mount.PropagationPrivate, mount.PropagationRPrivate}
	live := slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return !slices.Contains(fixed, m.Propagation) })
	if !live {
		a.live.Store(nil)
		return
	}
	a.live.Store(&liveContainer{c})
}

// checkAgain reports whether a call may be answered: it ends the session if a protected directory
// has been mounted in its container meanwhile.
func (a *admission) checkAgain() bool {
	c := a.live.Load()
	if c == nil {
		return true
	}
	err := a.mounts.runningMounts(c.InspectResponse, a.mounts.viewProtected)
	if err != nil {
		a.life.Stop(err)
	}
	return err == nil
}
