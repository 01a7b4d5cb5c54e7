// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// CallContainers runs commands in containers: a new container for each call, and running containers for shells.
type CallContainers struct {
	record     *Record
	log        *slog.Logger
	session    func() (Engine, error)            // connects to the session's engine
	connectTo  func(host string) (Engine, error) // connects to an engine by its DOCKER_HOST value
	containers *callcontainer.Containers
	engines    otherEngines
}

func newCallContainers(record *Record, session func() (Engine, error), connectTo func(string) (Engine, error), host *executor.Host, log *slog.Logger) *CallContainers {
	c := &CallContainers{record: record, log: log, session: session, connectTo: connectTo}
	c.containers = &callcontainer.Containers{
		Session: record.ID,
		Home:    record.Store.Home,
		Dir:     state.CallContainersDir(record.Dir),
		Program: state.ShimFile(record.Dir),
		Engine:  c.engine,
		Host:    host,
		Log:     log,
	}
	return c
}

// otherEngines are the engines of call containers, other than the session's engine.
type otherEngines struct {
	mu    sync.Mutex // guards the field below
	known map[string]Engine
}

// engine connects to the engine at host, or to the session's engine if host is empty.
func (c *CallContainers) engine(host string) (callcontainer.Engine, error) {
	if host == "" {
		return c.session()
	}
	c.engines.mu.Lock()
	defer c.engines.mu.Unlock()
	if api, ok := c.engines.known[host]; ok {
		return api, nil
	}
	if err := c.record.Store.AddCallEngine(host); err != nil { // without it, prune does not find the containers there
		return nil, err
	}
	api, err := c.connectTo(host)
	if err != nil {
		return nil, err
	}
	if c.engines.known == nil {
		c.engines.known = map[string]Engine{}
	}
	c.engines.known[host] = api
	return api, nil
}

// inContainer implements call.SessionConfig.InContainer. Call containers get the directories of the session's
// container.
func (c *CallContainers) inContainer(dirs *mount.Table) func(policy.Place, string, string) (call.Runner, string, error) {
	return func(p policy.Place, cwd, copies string) (call.Runner, string, error) {
		mounts, at := dirs.MountsFor(cwd)
		mounts, err := commandMounts(mounts, at, copies, c.record.Store.Home, c.record.OwnWorkspace(), c.socketsOf(p.DockerHost))
		if err != nil {
			return nil, "", err
		}
		spec := callcontainer.Spec{
			Image: p.Image, DockerHost: p.DockerHost, Network: p.Network, Memory: p.Memory, CPUs: p.CPUs, Pids: p.Pids, Cwd: at,
			CheckMounts: func(root int) error { return dirs.CheckMounts(root, mounts) },
		}
		for _, m := range mounts {
			spec.Mounts = append(spec.Mounts, callcontainer.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, File: m.File})
		}
		if copies != "" {
			spec.Mounts = append(spec.Mounts, callcontainer.Mount{Source: copies, Target: filepath.Clean(copies), ReadOnly: true})
		}
		return c.containers.Runner(spec), at, nil
	}
}

// socketsOf returns the paths of the unix sockets of the session's engine and of the engine at host.
func (c *CallContainers) socketsOf(host string) (sockets []string) {
	hosts := []string{host}
	if api, err := c.session(); err == nil {
		hosts = append(hosts, api.DaemonHost())
	}
	for _, h := range hosts {
		if path, ok := strings.CutPrefix(h, "unix://"); ok {
			sockets = append(sockets, mount.Resolved(path))
		}
	}
	return sockets
}

// commandMounts returns the mounts of the call container of a command in cwd. It leaves out mounts in which the caller
// could replace files of hostexec, and mounts that would give it the host, such as engine sockets. A call from below
// one of these mounts gets an error. Only workspace in the state directory belongs to the caller.
func commandMounts(mounts []mount.Point, cwd, copies, stateDir, workspace string, sockets []string) (kept []mount.Point, err error) {
	for _, m := range mounts {
		why := ""
		switch {
		case names.Within(m.Target, state.Target):
			continue // the call container has its own files there
		case names.Within(state.Target, m.Target), copies != "" && names.Within(filepath.Clean(copies), m.Target):
			why = "what hostexec puts into the call container would be below it"
		case m.Source != "" && callcontainer.HasEngineSocket(m.Source, sockets...):
			why = "it holds the engine's socket, which no call container gets"
		case m.Source != "" && m.Source != workspace && overlap(m.Source, stateDir):
			why = "it holds hostexec's own state"
		default:
			kept = append(kept, m)
			continue
		}
		if names.Within(cwd, m.Target) {
			err = fmt.Errorf("no command can run in a container below %s: %s", strconv.QuoteToASCII(m.Target), why)
		}
	}
	if slices.ContainsFunc(kept, func(m mount.Point) bool { return m.Source != "" && names.Within(cwd, m.Target) }) {
		err = nil // a kept mount contains cwd
	}
	return kept, err
}

// find returns the container ref for a shell. If exact is set, ref must be its name.
func (c *CallContainers) find(ctx context.Context, ref string, exact bool) (shell.Container, error) {
	api, err := c.session()
	if err != nil {
		return nil, err
	}
	return callcontainer.Find(ctx, api, ref, exact, func(arch string) (*os.File, error) {
		return inject.ShellProgram(c.record.Store.Home, inject.Arch(arch))
	})
}

// findExact implements call.SessionConfig.FindContainer.
func (c *CallContainers) findExact(ctx context.Context, name string) (shell.Container, error) {
	return c.find(ctx, name, true)
}

// removeTimeout is the time limit for an engine to remove leftovers, because the session's container waits.
const removeTimeout = 5 * time.Second

// RemoveLeftovers removes the call containers that an earlier watcher has left.
func (c *CallContainers) RemoveLeftovers(ctx context.Context) {
	own := func(session string) bool { return session == c.record.ID }
	hosts, err := c.record.Store.CallEngines()
	if err != nil {
		c.log.Warn("look for leftover call containers", "error", err)
	}
	for _, host := range append([]string{""}, hosts...) {
		api, err := c.engine(host)
		if err == nil {
			limited, cancel := context.WithTimeout(ctx, removeTimeout)
			err = callcontainer.Prune(limited, api, c.record.Store.Home, own)
			cancel()
		}
		if err != nil {
			c.log.Warn("look for leftover call containers", "engine", host, "error", err)
		}
	}
}
