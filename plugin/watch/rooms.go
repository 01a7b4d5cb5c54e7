// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// newContainers returns what makes the containers of those commands that do not run on the host.
func (w *Watcher) newContainers(host *executor.Host) *container.Containers {
	return &container.Containers{
		Session: w.rec.ID,
		Home:    w.store.Home,
		Dir:     state.CallContainersDir(w.Dir),
		Program: state.ShimFile(w.Dir),
		Engine:  w.engine,
		Host:    host,
		Log:     w.log,
	}
}

// engines are the engines that commands' containers are made at, other than the session's.
type engines struct {
	mu    sync.Mutex // guards the field below
	known map[string]Engine
}

// engine connects to the engine at host, or the session's if that is empty.
func (w *Watcher) engine(host string) (container.Engine, error) {
	if host == "" {
		return w.Engine()
	}
	w.others.mu.Lock()
	defer w.others.mu.Unlock()
	if api, ok := w.others.known[host]; ok {
		return api, nil
	}
	if err := w.store.AddCallEngine(host); err != nil { // prune would not find what is left there
		return nil, err
	}
	api, err := w.Another(host)
	if err != nil {
		return nil, err
	}
	if w.others.known == nil {
		w.others.known = map[string]Engine{}
	}
	w.others.known[host] = api
	return api, nil
}

// elsewhere is a scene's Elsewhere: the session's container lends its directories.
func (w *Watcher) elsewhere(dirs *mount.Table) func(policy.Place, string, string) (call.Runner, string, error) {
	return func(p policy.Place, cwd, copies string) (call.Runner, string, error) {
		mounts, at := dirs.Share(cwd)
		mounts, err := commandMounts(mounts, at, copies, w.store.Home, w.workspace(), w.socketsOf(p.Host))
		if err != nil {
			return nil, "", err
		}
		place := container.Spec{
			Image: p.Image, Host: p.Host, Network: p.Network, Memory: p.Memory, CPUs: p.CPUs, Pids: p.Pids, Cwd: at,
			CheckMounts: func(root int) error { return dirs.Shown(root, mounts) },
		}
		for _, m := range mounts {
			place.Mounts = append(place.Mounts, container.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, File: m.File})
		}
		if copies != "" {
			place.Mounts = append(place.Mounts, container.Mount{Source: copies, Target: filepath.Clean(copies), ReadOnly: true})
		}
		return w.containers.Runner(place), at, nil
	}
}

// socketsOf returns the sockets of the session's engine and of that at host, where they are
// sockets.
func (w *Watcher) socketsOf(host string) (sockets []string) {
	hosts := []string{host}
	if api, err := w.Engine(); err == nil {
		hosts = append(hosts, api.DaemonHost())
	}
	for _, h := range hosts {
		if path, ok := strings.CutPrefix(h, "unix://"); ok {
			sockets = append(sockets, resolved(path))
		}
	}
	return sockets
}

// commandMounts returns those of mounts that a command's container gets, which runs in cwd: neither
// those in which the caller could put something else in the place of what is hostexec's own
// there, nor those with which it could do whatever it likes: home is the state directory, in
// which only workspace is the caller's. A call from below one of these cannot be served. Beside
// the usual places there are engines at sockets.
func commandMounts(mounts []mount.Point, cwd, copies, home, workspace string, sockets []string) (kept []mount.Point, err error) {
	for _, m := range mounts {
		why := ""
		switch {
		case within(m.Target, state.Target):
			continue // the container has something else there
		case within(state.Target, m.Target), copies != "" && within(filepath.Clean(copies), m.Target):
			why = "what hostexec puts into the command's container would be below it"
		case m.Source != "" && engineIn(m.Source, sockets...):
			why = "it holds the engine's socket, which no command's container gets"
		case m.Source != "" && m.Source != workspace && covers(m.Source, home):
			why = "it holds hostexec's own state"
		default:
			kept = append(kept, m)
			continue
		}
		if within(cwd, m.Target) {
			err = fmt.Errorf("no command can run in a container below %s: %s", strconv.QuoteToASCII(m.Target), why)
		}
	}
	if slices.ContainsFunc(kept, func(m mount.Point) bool { return m.Source != "" && within(cwd, m.Target) }) {
		err = nil // there is a nearer one
	}
	return kept, err
}

// sweeping is how long an engine may take over what is left over: a container waits.
const sweeping = 5 * time.Second

// removeLeftContainers removes what a watcher before this one has left of commands' containers.
func (w *Watcher) removeLeftContainers(ctx context.Context) {
	mine := func(session string) bool { return session == w.rec.ID }
	hosts, err := w.store.CallEngines()
	if err != nil {
		w.log.Warn("look for leftovers", "error", err)
	}
	for _, host := range append([]string{""}, hosts...) {
		api, err := w.engine(host)
		if err == nil {
			soon, cancel := context.WithTimeout(ctx, sweeping)
			err = container.Sweep(soon, api, w.store.Home, mine)
			cancel()
		}
		if err != nil {
			w.log.Warn("look for leftovers", "engine", host, "error", err)
		}
	}
}
