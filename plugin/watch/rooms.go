// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// newRooms returns what makes the containers of those commands that do not run on the host.
func (w *Watcher) newRooms(host *executor.Host) *container.Rooms {
	return &container.Rooms{
		Session: w.rec.ID,
		Home:    w.store.Home,
		Dir:     state.RoomsDir(w.Dir),
		Program: w.shim(),
		Engine:  func() (container.Engine, error) { return w.Engine() },
		Host:    host,
		Log:     w.log,
	}
}

// elsewhere is a scene's Elsewhere: the session's container lends its directories.
func (w *Watcher) elsewhere(dirs *dir.Table) func(policy.Place, string, string) (call.Runner, string) {
	return func(p policy.Place, cwd, copies string) (call.Runner, string) {
		mounts, at := dirs.Share(cwd)
		place := container.Place{Image: p.Image, Network: p.Network, Memory: p.Memory, CPUs: p.CPUs, Pids: p.Pids, Cwd: at}
		for _, m := range mounts {
			place.Mounts = append(place.Mounts, container.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
		}
		if copies != "" {
			place.Mounts = append(place.Mounts, container.Mount{Source: copies, Target: filepath.Clean(copies), ReadOnly: true})
		}
		return w.rooms.Runner(place), at
	}
}

// sweepRooms removes what a watcher before this one has left of commands' containers.
func (w *Watcher) sweepRooms(ctx context.Context, api Engine) {
	mine := func(session string) bool { return session == w.rec.ID }
	if err := container.Sweep(ctx, api, w.store.Home, mine); err != nil {
		w.log.Warn("look for leftovers", "error", err)
	}
}

// shim is the program that stands in commands' containers.
func (w *Watcher) shim() string {
	if w.rec.Carrier == carrier.NameFiles && w.rec.Proxy == nil {
		return state.SpareShim(w.Dir)
	}
	return state.ShimFile(w.Dir)
}
