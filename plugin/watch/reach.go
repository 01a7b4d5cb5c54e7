// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/relay"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// transport is how calls reach this host, and how that is known. A carrier is never guessed: a
// connection that arrives at the session's socket proves that sockets cross, and a relay
// that is ready and did not reach it proves that they do not.
type transport struct{ carrier, why string }

// socketSilence is how long a container may make no call before its engine is looked at more
// closely, where that has not been proven.
const socketSilence = time.Second

var errSocketWorks = errors.New("the socket crosses into the container")

// openListeners opens the listeners of the session's carriers.
func (w *Watcher) openListeners() (doors []net.Listener, err error) {
	if w.rec.Proxy == nil { // first: nothing makes files yet while a socket is bound
		if doors, err = w.openOtherListeners(); err != nil {
			return nil, err
		}
	}
	roads, err := w.openShimListeners()
	if err != nil {
		return nil, errors.Join(err, closeAll(doors))
	}
	return append(doors, roads...), nil
}

// openShimListeners opens those of the carriers of shims.
func (w *Watcher) openShimListeners() (doors []net.Listener, err error) {
	if w.rec.Carrier == carrier.ByFiles {
		w.decide(transport{carrier.ByFiles, "it was asked for"})
		ln, err := w.listen()
		if err != nil {
			return nil, err
		}
		return []net.Listener{ln}, nil
	}
	share := state.ShareDir(w.Dir)
	known := w.store.Engine(w.rec.Engine)
	first := transport{carrier.Undecided, "nothing has come from the container yet"}
	switch {
	case w.rec.Carrier == carrier.BySocket:
		first = transport{carrier.BySocket, "it was asked for"}
	case w.rec.Carrier == carrier.ByRelay:
		first.why = "a relay was asked for, and is not up yet"
	case known.Carrier == carrier.BySocket && !w.rec.RemoteFiles:
		first = transport{carrier.BySocket, "it was proven with this engine before"}
	}
	var nonce string
	if w.shared() {
		if nonce, err = relay.WriteNonce(share); err != nil {
			return nil, err
		}
	}
	w.decide(first)
	w.connected = make(chan struct{})
	if w.rec.Carrier != carrier.ByRelay {
		ln, err := socket.Listen(share)
		if err != nil {
			return nil, err
		}
		doors = append(doors, &firstConnListener{Listener: ln, accepted: w.connected})
	}
	if w.rec.Relay {
		w.relay = relay.New(nonce)
		doors = append(doors, w.relay)
	}
	return doors, nil
}

// shared reports whether the container has the session's share, and not a copy.
func (w *Watcher) shared() bool { return !w.rec.RemoteFiles && !w.rec.Attached }

// firstConnListener is a listener that tells of its first connection.
type firstConnListener struct {
	net.Listener
	once     sync.Once
	accepted chan struct{}
}

func (b *firstConnListener) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err == nil {
		b.once.Do(func() { close(b.accepted) })
	}
	return c, err
}

// decide makes r known: to the shims, and to who asks.
func (w *Watcher) decide(r transport) {
	old := w.transport.Swap(&r)
	if old != nil && *old == r {
		return
	}
	w.log.Info("carrier", "is", r.carrier, "for", r.why)
	if !w.shared() || w.rec.Carrier == carrier.ByFiles {
		return // what is there in its place says relay from the start; or the listener sees to it
	}
	if err := carrier.Decide(state.ShareDir(w.Dir), r.carrier); err != nil {
		w.log.Error("carrier", "error", err)
	}
}

// settleTransport finds out how calls of container id reach this host, and sees to the relay if
// that is how. It returns when there is nothing more to do about it, or ctx is done.
func (w *Watcher) settleTransport(ctx context.Context, api Engine, id string) {
	if w.rec.Carrier == carrier.BySocket || w.rec.Carrier == carrier.ByFiles || w.relay == nil && w.rec.Carrier != "auto" {
		return
	}
	if w.replicas.show(id) {
		w.decide(transport{carrier.ByRelay, "it was known of a container beside this one"})
		return
	}
	if w.rec.Carrier == carrier.ByRelay || w.rec.RemoteFiles {
		w.keepRelay(ctx, api, id)
		return
	}
	quiet := time.NewTimer(socketSilence)
	defer quiet.Stop()
	if w.store.Engine(w.rec.Engine).Carrier != carrier.ByRelay {
		select {
		case <-w.connected:
			w.socketWorks(ctx, api)
			return
		case <-ctx.Done():
			return
		case <-quiet.C:
		}
	}
	switch {
	case w.relay != nil:
		w.keepRelay(ctx, api, id)
	case !w.sameEngine(ctx, api):
		w.decide(transport{carrier.BySocket, "it was proven, but with another engine at the same place: run again if calls fail"})
		w.note(state.Engine{})
	}
}

// socketWorks notes that a connection has arrived at the socket.
func (w *Watcher) socketWorks(ctx context.Context, api Engine) {
	w.decide(transport{carrier.BySocket, "a connection of the container's has arrived"})
	if known := w.store.Engine(w.rec.Engine); known.Carrier != carrier.BySocket {
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
	if w.rec.Engine == "" {
		return // the session is older than this
	}
	if err := w.store.NoteEngine(w.rec.Engine, e); err != nil {
		w.log.Warn("remember the engine", "error", err)
	}
}

func (w *Watcher) sameEngine(ctx context.Context, api Engine) bool {
	info, err := api.Info(ctx)
	return err != nil || info.ID == w.store.Engine(w.rec.Engine).ID
}
