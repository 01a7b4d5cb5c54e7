// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"slices"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// The engine opens the sources of mounts when the container starts, by their names. What it
// has mounted is known only then, so no call is answered before that has been looked at.

// mayHaveStarted says that the container may have started: the engine has said so, or a call has come.
func (w *Watcher) mayHaveStarted() {
	select {
	case w.started <- struct{}{}:
	default: // it has been said, and not been heard yet
	}
}

// lookAtStart looks at the mounts of container id as soon as it runs, and then lets calls in,
// or ends the session. The returned function ends that look, for when that run is over.
func (w *Watcher) lookAtStart(ctx context.Context, api Engine, id string) (over func()) {
	ctx, cancel := context.WithCancel(ctx)
	var look sync.WaitGroup
	// ends with the look, or with ctx.
	look.Go(func() {
		select {
		case <-w.started:
		case <-ctx.Done():
			return
		}
		for wait := looking / 20; ; wait = min(2*wait, absent) {
			c, err := inspect(ctx, api, id)
			if err == nil && runs(c) {
				w.letIn(c)
				return
			}
			if !pause(ctx, wait) {
				return
			}
		}
	})
	return func() { cancel(); look.Wait() }
}

// letIn lets the calls of a container in that runs, or ends the session.
func (w *Watcher) letIn(c container.InspectResponse) {
	if err := w.preflight(c); err != nil {
		w.stop(err)
		return
	}
	w.noteLive(c)
	w.containerKnown.open()
}

// liveContainer is a container in which mounts of this host appear while it runs.
type liveContainer struct{ container.InspectResponse }

// noteLive has every call look again at what is mounted in a container that mounts of this host
// can appear in while it runs.
func (w *Watcher) noteLive(c container.InspectResponse) {
	fixed := []mount.Propagation{"", mount.PropagationPrivate, mount.PropagationRPrivate}
	live := slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return !slices.Contains(fixed, m.Propagation) })
	if !live {
		w.live.Store(nil)
		return
	}
	w.live.Store(&liveContainer{c})
}

// lookAgain reports whether a call may be answered: it ends the session if a protected directory
// has been mounted in its container meanwhile.
func (w *Watcher) lookAgain() bool {
	c := w.live.Load()
	if c == nil {
		return true
	}
	err := w.runningMounts(c.InspectResponse, w.newLook)
	if err != nil {
		w.stop(err)
	}
	return err == nil
}
