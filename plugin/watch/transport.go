// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// socketSilence is how long a container may make no call before its engine is looked at more
// closely, where that has not been proven.
const socketSilence = time.Second

var errSocketWorks = errors.New("the socket crosses into the container")

// settleTransport finds out how calls of container id reach this host, and sees to the relay if
// that is how. It returns when there is nothing more to do about it, or ctx is done.
func (w *Watcher) settleTransport(ctx context.Context, api Engine, id string) {
	if w.Record.Carrier == carrier.BySocket || w.Record.Carrier == carrier.ByFiles || w.Carriers.Relay == nil && w.Record.Carrier != "auto" {
		return
	}
	if w.replicas.show(id) {
		w.Carriers.Decide(carrier.ByRelay, "it was known of a container beside this one")
		return
	}
	if w.Record.Carrier == carrier.ByRelay || w.Record.RemoteFiles {
		w.keepRelay(ctx, api, id)
		return
	}
	quiet := time.NewTimer(socketSilence)
	defer quiet.Stop()
	if w.Record.Store.Engine(w.Record.Engine).Carrier != carrier.ByRelay {
		select {
		case <-w.Carriers.Connected:
			w.socketWorks(ctx, api)
			return
		case <-ctx.Done():
			return
		case <-quiet.C:
		}
	}
	switch {
	case w.Carriers.Relay != nil:
		w.keepRelay(ctx, api, id)
	case !w.sameEngine(ctx, api):
		w.Carriers.Decide(carrier.BySocket, "it was proven, but with another engine at the same place: run again if calls fail")
		w.note(state.Engine{})
	}
}

// socketWorks notes that a connection has arrived at the socket.
func (w *Watcher) socketWorks(ctx context.Context, api Engine) {
	w.Carriers.Decide(carrier.BySocket, "a connection of the container's has arrived")
	if known := w.Record.Store.Engine(w.Record.Engine); known.Carrier != carrier.BySocket {
		w.noteEngine(ctx, api, state.Engine{Carrier: carrier.BySocket})
	}
}

// noteEngine notes e of the engine, for sessions to come.
func (w *Watcher) noteEngine(ctx context.Context, api Engine, e state.Engine) {
	info, err := api.Info(ctx)
	if err != nil {
		return // the next session finds out again
	}
	e.ID = info.ID
	w.note(e)
}

func (w *Watcher) note(e state.Engine) {
	if w.Record.Engine == "" {
		return // the session is older than this
	}
	if err := w.Record.Store.NoteEngine(w.Record.Engine, e); err != nil {
		w.log.Warn("remember the engine", "error", err)
	}
}

func (w *Watcher) sameEngine(ctx context.Context, api Engine) bool {
	info, err := api.Info(ctx)
	return err != nil || info.ID == w.Record.Store.Engine(w.Record.Engine).ID
}
