// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Follow follows the session's container from its creation to its end.
func (m *Mode) Follow(ctx context.Context, conn *watch.LauncherConn) (err error) {
	conn.Ready()
	if m.s.Record.Session().DevContainer != nil {
		return m.followService(ctx, conn)
	}
	// ends with its request. Meanwhile, client and engine negotiate the version of the API.
	m.s.Go(func() { _, _ = m.s.Engine() }) // the call below returns the error
	id, made, err := m.readContainer(ctx, conn)
	if err != nil {
		return err
	}
	api, err := m.s.Engine()
	if err != nil {
		conn.Fail(err)
		return err
	}
	existed := m.existed(id) // before setUp
	defer func() {
		if errors.Is(err, watch.ErrGone) && m.s.Record.Session().Volume != "" {
			m.leftovers.removeVolumes(api)
		}
	}()
	began, exit, err := m.setUp(ctx, api, id, made, conn)
	if err != nil {
		return err
	}
	// end with run, or with ctx.
	m.s.Go(func() { m.followLauncher(ctx, api, id, existed, conn) })
	if m.s.Life.Agent != nil {
		m.s.Go(func() { agentStopper{m.s, m.leftovers}.stop(ctx, api, id, conn) })
	}
	m.s.Go(func() { m.chooser.choose(ctx, api, id) })
	m.s.Go(func() { m.name.follow(ctx, api, id) })
	if m.s.Carriers.ByFiles {
		m.s.Go(func() { m.requests.watch(ctx, api, id) })
	}
	endCheck := m.admission.checkAtStart(ctx, api, id)
	return m.followRuns(ctx, api, id, began, exit, endCheck)
}

// followRuns follows the container through all its runs. began and exit are the start time and the end of the first
// run. endCheck ends the check of that run's mounts.
func (m *Mode) followRuns(ctx context.Context, api watch.Engine, id, began string, exit *exitWait, endCheck func()) error {
	for {
		err := wait(ctx, api, id, began, exit, m.s.Log)
		endCheck()
		if err != nil {
			return err
		}
		m.admission.containerKnown.shut() // until the mounts of its next run are known
		m.s.Life.Down.Store(true)
		if err := m.checkStopped(ctx, api, id); err != nil {
			return err
		}
		if began, exit, err = m.waitRestart(ctx, api, id); err != nil {
			return err
		}
		m.name.update(ctx, api, id) // it may have been renamed since the first inspect
		m.s.Life.Down.Store(false)
		m.admission.containerKnown.open()
		if !watch.Pause(ctx, watch.Poll) { // so that contradictory answers of the engine cause no busy loop
			return context.Cause(ctx)
		}
	}
}

// followLauncher reacts to the end of the launcher. If a launcher that has created the container was killed before the
// start, followLauncher removes the container. If the caller of an agent was killed, it ends the agent's container. A
// container that existed before its launcher belongs to a user: there, a killed launcher is one that is done.
func (m *Mode) followLauncher(ctx context.Context, api watch.Engine, id string, existed bool, conn *watch.LauncherConn) {
	select {
	case line := <-conn.Lines:
		switch {
		case line == "over":
			m.s.Life.EndUnlessKept(m.leftovers.awaitRemoval(ctx, api, id), conn)
		case line == "abort" && existed:
			m.s.Life.Stop(errNotAwaited) // attach was interrupted
		case line == "done" || existed:
			m.awaitStart(ctx, api, id)
		case m.s.Record.Session().Agent != nil:
			m.s.Life.EndUnlessKept(m.leftovers.endAbandoned(ctx, api, id), conn)
		default:
			if err := m.leftovers.removeUnstarted(ctx, api, id); err != nil {
				m.s.Life.Stop(err)
			}
		}
	case <-ctx.Done():
	}
}

// awaitStart ends the session of a container that does not start, or is removed before that.
func (m *Mode) awaitStart(ctx context.Context, api watch.Engine, id string) {
	if m.s.Record.Session().StartedLater {
		m.endIfRemoved(ctx, api, id)
		return
	}
	m.endUnstarted(ctx, api, id)
}

// createdPoll is the interval at which a container that has not started yet is inspected.
const createdPoll = 5 * time.Second

// endIfRemoved ends the session if its container is removed before its first start. Docker's engine then ends a wait
// for an exit, Podman's does not.
func (m *Mode) endIfRemoved(ctx context.Context, api watch.Engine, id string) {
	for watch.Pause(ctx, createdPoll) {
		c, err := api.ContainerInspect(ctx, id)
		if errdefs.IsNotFound(err) {
			m.s.Life.Stop(watch.ErrGone)
			return
		}
		if err == nil && (runs(c) || c.State.Status == container.StateExited) {
			return
		}
	}
}

// endUnstarted ends the session of a container that docker run has created and could not start. As for a stopped
// container, it first waits for a start by a user.
func (m *Mode) endUnstarted(ctx context.Context, api watch.Engine, id string) {
	c, err := api.ContainerInspect(ctx, id)
	if err != nil || c.State.Status != container.StateCreated {
		return // removed or started, which wait finds
	}
	m.s.Life.Down.Store(true)
	if err := waitFinalState(ctx, api, id); err != nil {
		m.s.Life.Stop(err)
		return
	}
	m.s.Life.Down.Store(false)
}
