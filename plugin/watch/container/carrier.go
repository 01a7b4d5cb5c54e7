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

var errSocketWorks = errors.New("the socket works in the container")

// carrierChooser chooses the carrier of a container's calls, and keeps a relay running if it is needed.
type carrierChooser struct {
	record   *watch.Record
	carriers *watch.Carriers
	log      *slog.Logger
	running  func(context.Context) bool // waits until the container is known to run
}

// choose finds out how calls of container id reach this host, and keeps a relay running if they need one. If a relay is
// needed, it returns when the socket works or ctx is done. Otherwise it returns once the carrier is known.
func (c *carrierChooser) choose(ctx context.Context, api watch.Engine, id string) {
	if c.record.Session().Carrier == carrier.ByFiles {
		c.forgetReplacedEngine(ctx, api) // in place of a test whether the shim can be executed
	}
	if c.record.Session().Carrier == carrier.BySocket || c.record.Session().Carrier == carrier.ByFiles || c.carriers.Relay == nil && c.record.Session().Carrier != "auto" {
		return
	}
	if c.record.Session().Carrier == carrier.ByRelay || c.record.Session().RemoteFiles {
		c.keepRelay(ctx, api, id)
		return
	}
	if c.record.Store.Engine(c.record.Session().Engine).Carrier != carrier.ByRelay {
		startCtx, cancel := context.WithTimeout(ctx, startTimeout)
		c.running(startCtx)
		cancel()
	}
	silence := time.NewTimer(socketSilence)
	defer silence.Stop()
	if c.record.Store.Engine(c.record.Session().Engine).Carrier != carrier.ByRelay {
		select {
		case <-c.carriers.Connected:
			c.socketWorks(ctx, api)
			return
		case <-ctx.Done():
			return
		case <-silence.C:
		}
	}
	switch {
	case c.carriers.Relay != nil:
		c.keepRelay(ctx, api, id)
	case c.forgetReplacedEngine(ctx, api):
		c.carriers.Decide(carrier.BySocket, "it was proven, but with another engine at the same address: run again if calls fail")
	}
}

// forgetReplacedEngine deletes the stored properties of the engine if another engine is now at the same address, and
// reports whether it did. The shim may be for the architecture of the old engine.
func (c *carrierChooser) forgetReplacedEngine(ctx context.Context, api watch.Engine) bool {
	known := c.record.Store.Engine(c.record.Session().Engine)
	if known == (state.EngineFacts{}) {
		return false
	}
	info, err := api.Info(ctx)
	if err != nil || info.ID == known.ID {
		return false
	}
	c.log.Warn("another engine is at the same address: run again if calls fail")
	c.store(state.EngineFacts{})
	return true
}

// socketWorks notes that a connection has arrived at the socket.
func (c *carrierChooser) socketWorks(ctx context.Context, api watch.Engine) {
	c.carriers.Decide(carrier.BySocket, "a connection of the container's has arrived")
	if known := c.record.Store.Engine(c.record.Session().Engine); known.Carrier != carrier.BySocket {
		c.noteEngine(ctx, api, state.EngineFacts{Carrier: carrier.BySocket})
	}
}

// noteEngine stores e for later sessions, with the engine's id, and its architecture if that is known.
func (c *carrierChooser) noteEngine(ctx context.Context, api watch.Engine, e state.EngineFacts) {
	info, err := api.Info(ctx)
	if err != nil {
		return // the next session finds out again
	}
	e.ID = info.ID
	if known := c.record.Store.Engine(c.record.Session().Engine); known.ID == e.ID {
		e.Arch = known.Arch
	}
	c.store(e)
}

func (c *carrierChooser) store(e state.EngineFacts) {
	if c.record.Session().Engine == "" {
		return // the record was rebuilt without it
	}
	if err := c.record.Store.NoteEngine(c.record.Session().Engine, e); err != nil {
		c.log.Warn("remember the engine", "error", err)
	}
}
