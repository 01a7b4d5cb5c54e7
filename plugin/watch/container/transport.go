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
	// socketSilence is the time without a call after the container's start, after which the watcher tests whether
	// sockets work across the mount.
	socketSilence = time.Second
	// startTimeout is the time limit for the start of the container.
	startTimeout = 10 * time.Second
)

var errSocketWorks = errors.New("the socket crosses into the container")

// transport chooses the carrier of a container's calls, and keeps the relay running if it is the relay.
type transport struct {
	record   *watch.Record
	carriers *watch.Carriers
	log      *slog.Logger
	running  func(context.Context) bool // waits until the container is known to run
}

// choose finds out how calls of container id reach this host, and keeps a relay running if they need one. It returns
// when the socket works, or ctx is done.
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

// forgetReplacedEngine deletes the stored properties of the engine if another engine is now at the same address, and
// reports whether it did. The shim may be for the architecture of the old engine.
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

// noteEngine stores e, with the engine's id and architecture, for later sessions.
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
		return // an earlier version has created the session
	}
	if err := t.record.Store.NoteEngine(t.record.Engine, e); err != nil {
		t.log.Warn("remember the engine", "error", err)
	}
}
