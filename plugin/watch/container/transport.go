// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const (
	// socketSilence is how long a container may make no call after its start before the watcher tests whether
	// sockets cross, if that is unknown.
	socketSilence = time.Second
	// startTimeout is how long the start of the container is waited for.
	startTimeout = 10 * time.Second
)

var errSocketWorks = errors.New("the socket crosses into the container")

// transport finds out how calls of a container reach this host, and keeps relays where that is how.
type transport struct {
	record   *watch.Record
	carriers *watch.Carriers
	log      *slog.Logger
	running  func(context.Context) bool // waits until the container is known to run
}

// choose finds out how calls of container id reach this host, and sees to the relay if
// that is how. It returns when there is nothing more to do about it, or ctx is done.
func (t *transport) choose(ctx context.Context, api watch.Engine, id string) {
	if t.record.Carrier == carrier.ByFiles {
		t.forgetReplacedEngine(ctx, api) // in place of a test whether the shim can be executed
	}
	if t.record.Carrier == carrier.BySocket || t.record.Carrier == carrier.ByFiles || t.carriers.Relay == nil && t.record.Carrier != "auto" {
		return
	}
	if t.record.Carrier == carrier.ByRelay || t.record.RemoteFiles {
		t.keepRelay(ctx, api, id)
		return
	}
	if t.record.Store.Engine(t.record.Engine).Carrier != carrier.ByRelay {
		startCtx, cancel := context.WithTimeout(ctx, startTimeout)
		t.running(startCtx)
		cancel()
	}
	silence := time.NewTimer(socketSilence)
	defer silence.Stop()
	if t.record.Store.Engine(t.record.Engine).Carrier != carrier.ByRelay {
		select {
		case <-t.carriers.Connected:
			t.socketWorks(ctx, api)
			return
		case <-ctx.Done():
			return
		case <-silence.C:
		}
	}
	switch {
	case t.carriers.Relay != nil:
		t.keepRelay(ctx, api, id)
	case t.forgetReplacedEngine(ctx, api):
		t.carriers.Decide(carrier.BySocket, "it was proven, but with another engine at the same place: run again if calls fail")
	}
}

// forgetReplacedEngine deletes what is stored about another engine at the same place, and reports whether it did. The shim may
// be of that one's architecture.
func (t *transport) forgetReplacedEngine(ctx context.Context, api watch.Engine) bool {
	known := t.record.Store.Engine(t.record.Engine)
	if known == (state.Engine{}) {
		return false
	}
	info, err := api.Info(ctx)
	if err != nil || info.ID == known.ID {
		return false
	}
	t.log.Warn("another engine is at the same place: run again if calls fail")
	t.store(state.Engine{})
	return true
}

// socketWorks notes that a connection has arrived at the socket.
func (t *transport) socketWorks(ctx context.Context, api watch.Engine) {
	t.carriers.Decide(carrier.BySocket, "a connection of the container's has arrived")
	if known := t.record.Store.Engine(t.record.Engine); known.Carrier != carrier.BySocket {
		t.noteEngine(ctx, api, state.Engine{Carrier: carrier.BySocket})
	}
}

// noteEngine notes e of the engine, for sessions to come.
func (t *transport) noteEngine(ctx context.Context, api watch.Engine, e state.Engine) {
	info, err := api.Info(ctx)
	if err != nil {
		return // the next session finds out again
	}
	e.ID, e.Arch = info.ID, info.Architecture
	t.store(e)
}

func (t *transport) store(e state.Engine) {
	if t.record.Engine == "" {
		return // the session is older than this
	}
	if err := t.record.Store.NoteEngine(t.record.Engine, e); err != nil {
		t.log.Warn("remember the engine", "error", err)
	}
}
