// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// otherRelays are the containers of a service that have their own relay, beside the container that the session
// shows. All are on one engine, so all use the same transport.
type otherRelays struct {
	mu     sync.Mutex // guards the fields below
	shown  string     // has its relay by settleReach
	relies bool       // but not this one: it was one of these when it was shown
	kept   map[string]bool
}

// enter notes a container that may need a relay; it reports whether that is news.
func (r *otherRelays) enter(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]bool{}
	}
	_, known := r.kept[id]
	if !known {
		r.kept[id] = false
	}
	return !known
}

// keep records that a container is about to get a relay, unless it is the one that the session shows.
func (r *otherRelays) keep(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[id] = id != r.shown || r.relies
	return r.kept[id]
}

func (r *otherRelays) leave(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, id)
}

// show notes which container the session shows; it reports whether that has a relay already.
func (r *otherRelays) show(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown, r.relies = id, r.kept[id]
	return r.relies
}

// relayOther keeps a relay in container id while the container runs and life lasts. The shown container may end
// before it, and the calls of this one continue.
func (t *transport) relayOther(life context.Context, api watch.Engine, id string) {
	if t.carriers.Relay == nil || !t.replicas.enter(id) {
		return
	}
	// ends with the container's run, or with life.
	t.start(func() {
		for again := true; again; {
			again = t.byRelay(life) && t.replicas.keep(id)
			if again {
				t.keepOtherRelay(life, api, id)
			}
			t.replicas.leave(id)
			// It may have been started since the last check, and the start may have been reported
			// for another run.
			again = again && mayRun(life, api, id) && t.replicas.enter(id)
		}
	})
}

// mayRun reports whether a container runs, or cannot be inspected.
func mayRun(ctx context.Context, api watch.Engine, id string) bool {
	c, err := api.ContainerInspect(ctx, id)
	if err != nil {
		return ctx.Err() == nil && !errdefs.IsNotFound(err)
	}
	return c.State.Running
}

// byRelay waits until it is known how calls come, and reports whether by a relay.
func (t *transport) byRelay(ctx context.Context) bool {
	for t.record.Carrier != carrier.ByRelay {
		if is := t.carriers.Transport().Carrier; is != carrier.Undecided {
			return is == carrier.ByRelay
		}
		if !watch.Pause(ctx, watch.Poll) {
			return false
		}
	}
	return true
}

// keepOtherRelay keeps a relay in container id until that does not run, or ctx is done.
func (t *transport) keepOtherRelay(ctx context.Context, api watch.Engine, id string) {
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		began := time.Now()
		err := t.relayOnce(ctx, api, id, func(bool) error { return nil })
		if time.Since(began) > maxRetry { // as in keepRelay
			wait = minRetry
		}
		t.log.Debug("relay", "container", id, "error", err)
		if !watch.Pause(ctx, wait) || !mayRun(ctx, api, id) {
			return // an event reports a new start
		}
	}
}
