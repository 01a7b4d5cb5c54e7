// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// The session of a dev container exists before its container, which the tool may create and replace at any time. The
// watcher searches for a container with the session's label and share. Calls wait until the container's mounts are
// checked.

// containerTimeout is the time limit for the creation of a container, whose image may have to be built.
const containerTimeout = time.Hour

// followService serves one container after another until no other is expected. It returns the reason for the session's
// end.
func (m *Mode) followService(ctx context.Context, conn *watch.LauncherConn) error {
	api, err := m.s.Engine()
	if err != nil {
		conn.Fail(err)
		return err
	}
	if m.s.Record.Session().Container != "" { // resumed
		m.s.Calls.Containers.RemoveLeftovers(ctx)
	}
	for {
		c, err := m.nextContainer(ctx, api)
		if err != nil {
			return err
		}
		if err := m.setUpService(ctx, api, c, conn); err != nil {
			conn.Fail(err)
			return err
		}
		if err := m.followRun(ctx, api, c.ID, c.State.StartedAt); err != nil {
			return err
		}
		if !watch.Pause(ctx, watch.Poll/4) { // as in followRuns
			return context.Cause(ctx)
		}
	}
}

// nextContainer waits for a container that runs. It returns an error if none is expected.
func (m *Mode) nextContainer(ctx context.Context, api watch.Engine) (c container.InspectResponse, err error) {
	m.s.Life.Down.Store(true)
	lastLogged := ""
	for deadline := time.Now().Add(restartDelay); ; {
		c, stopped, err := m.findRunning(ctx, api)
		switch {
		case err != nil: // the engine does not answer, and may start containers later
			deadline = time.Now().Add(restartDelay)
			if text := err.Error(); text != lastLogged && !errors.Is(err, errRestarting) {
				lastLogged = text
				m.s.Log.Warn("look for containers", "error", err)
			}
		case c.ContainerJSONBase != nil:
			return c, nil
		case !stopped || time.Now().After(deadline):
			why := watch.ErrGone
			if stopped {
				why = watch.ErrExited
			}
			if why = m.s.Life.WaitKeptJobs(ctx, func(ctx context.Context) error { return currentState(ctx, api, m.s.Record.Session().Container) }, why); why != nil && m.takeLease() {
				return c, why
			}
		}
		if !watch.Pause(ctx, watch.Poll/2) {
			return c, context.Cause(ctx)
		}
	}
}

// findRunning returns the first container that runs. stopped means that there are only stopped containers.
func (m *Mode) findRunning(ctx context.Context, api watch.Engine) (found container.InspectResponse, stopped bool, err error) {
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: serviceFilter(m.s.Record)})
	if err != nil {
		return found, false, err
	}
	slices.SortFunc(list, func(a, b container.Summary) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range list {
		c, ierr := inspect(ctx, api, s.ID)
		if errdefs.IsNotFound(ierr) {
			continue // removed meanwhile
		}
		if ierr != nil {
			return found, false, fmt.Errorf("look at container %.12s: %w", s.ID, ierr)
		}
		if !mountsShare(c, m.s.Record.Dir) {
			continue // created without the share
		}
		if runs(c) {
			return c, false, nil
		}
		stopped = true
		if c.State.Restarting {
			err = errRestarting
		}
	}
	return found, stopped, err
}

// serviceFilter returns the filter for the containers of the session.
func serviceFilter(record *watch.Record) filters.Args {
	return filters.NewArgs(filters.Arg("label", state.LabelDevcontainer+"="+record.Session().DevContainer.Name))
}

// mountsShare reports whether a container mounts the session's share. Labels prove nothing: an image may have them.
func mountsShare(c container.InspectResponse, session string) bool {
	share := state.ShareDir(session)
	return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool {
		return path.Clean(m.Destination) == state.Target && mount.Resolved(m.Source) == share
	})
}

// setUpService prepares the session for a container, and admits the container's calls.
func (m *Mode) setUpService(ctx context.Context, api watch.Engine, c container.InspectResponse, conn *watch.LauncherConn) error {
	if old := m.s.Record.Session().Container; old != c.ID {
		m.s.Record.Change(func(rec *state.Session) {
			rec.Container, rec.ContainerName, rec.Image = c.ID, nameOf(c), c.Config.Image
		})
		if err := m.s.Record.Save(); err != nil {
			return err
		}
		if old != "" && !startedBefore(c, m.lastEnd) {
			m.s.Life.EndCalls(ctx, watch.ErrGone)
		}
	}
	m.s.Record.Change(func(rec *state.Session) { rec.Killed = "" }) // saved with the warnings
	found := m.mounts.warnings(c)
	list := append(slices.Clone(found), m.mounts.adapt(c)...)
	if err := m.mounts.refuseNew(c); err != nil {
		return m.killer.killExposed(ctx, api, c, err)
	}
	if err := m.awaitMounts(ctx, api); err != nil {
		return err
	}
	if err := m.configureCalls(c); err != nil {
		return err
	}
	m.updateWarnings(c, found)
	m.noteArrival()
	list = append(list, m.s.Config.WritableCode(m.s.Calls.Dirs())...)
	m.bound(conn, c, list)
	m.s.Life.Down.Store(false)
	m.admission.containerKnown.open()
	return nil
}

func startedBefore(c container.InspectResponse, t time.Time) bool {
	started, err := time.Parse(time.RFC3339Nano, c.State.StartedAt)
	return err == nil && started.Before(t)
}

// followRun serves a container until its run with the start time began ends. Then calls wait again.
func (m *Mode) followRun(ctx context.Context, api watch.Engine, id, began string) error {
	runCtx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	// end with the container's run.
	wg.Go(func() { m.chooser.choose(runCtx, api, id) })
	wg.Go(func() { m.name.follow(runCtx, api, id) })
	if m.s.Carriers.ByFiles {
		wg.Go(func() { m.requests.watch(runCtx, api, id) })
	}
	wg.Go(func() {
		if err := m.followOthers(runCtx, api); err != nil {
			m.admission.containerKnown.shut()
			cancel(err)
		}
	})
	err := wait(runCtx, api, id, began, nil, m.s.Log)
	m.admission.containerKnown.shut()
	m.lastEnd = time.Now()
	cancel(nil)
	wg.Wait()
	return err
}

// takeLease reports whether no container is expected. Then it takes the lease, so that no process announces one.
func (m *Mode) takeLease() bool {
	lease := state.NewLock(state.LeaseFile(m.s.Record.Dir))
	if ok, err := lease.TryLock(); err != nil || !ok {
		return err != nil // a lease that cannot be opened is not held
	}
	if fi, err := os.Stat(lease.Path()); err == nil && time.Since(fi.ModTime()) < containerTimeout {
		lease.Close()
		return false
	}
	m.lease = lease
	return true
}

// noteArrival records that the expected container runs.
func (m *Mode) noteArrival() {
	if err := os.Chtimes(state.LeaseFile(m.s.Record.Dir), time.Time{}, time.Unix(0, 0)); err != nil {
		m.s.Log.Warn("record that the container runs", "error", err)
	}
}
