// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Follow implements Mode. It stays with the session's container, from before it starts, until it is over.
func (m *Mode) Follow(ctx context.Context, link *watch.Launcher) (err error) {
	link.Ready()
	if m.s.Record.Service != nil {
		return m.followService(ctx, link)
	}
	// ends with its request, by which client and engine agree on a version while the container is made.
	m.s.Go(func() { _, _ = m.s.Engine() }) // an error is reported when it matters
	id, made, err := m.readContainer(ctx, link)
	if err != nil {
		return err
	}
	api, err := m.s.Engine()
	if err != nil {
		link.Fail(err)
		return err
	}
	defer func() {
		if errors.Is(err, watch.ErrGone) && m.s.Record.Volume != "" {
			m.leftovers.sweepVolumes(api)
		}
	}()
	began, exit, err := m.setUp(ctx, api, id, made, link)
	if err != nil {
		return err
	}
	// end with run, or with ctx.
	m.s.Go(func() { m.noteRun(ctx, api, id, link) })
	if m.s.Life.Agent != nil {
		m.s.Go(func() { agentStopper{m.s, m.leftovers}.stop(ctx, api, id, link) })
	}
	m.s.Go(func() { m.transport.settle(ctx, api, id) })
	m.s.Go(func() { m.name.follow(ctx, api, id) })
	if m.s.Carriers.ByFiles {
		m.s.Go(func() { m.requests.watch(ctx, api, id) })
	}
	looked := m.admission.checkAtStart(ctx, api, id)
	return m.followRuns(ctx, api, id, began, exit, looked)
}

// followRuns follows the container through all its runs. The first one began at the given time; exit is its end.
// looked ends the check of the first run's mounts.
func (m *Mode) followRuns(ctx context.Context, api watch.Engine, id, began string, exit *exitWait, looked func()) error {
	for {
		err := wait(ctx, api, id, began, exit, m.s.Log)
		looked()
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
		m.name.note(ctx, api, id) // it may have been renamed since the first inspect
		m.s.Life.Down.Store(false)
		m.admission.containerKnown.open()
		if !watch.Pause(ctx, watch.Poll) { // so that contradictory answers of the engine cause no busy loop
			return context.Cause(ctx)
		}
	}
}

// readContainer waits for the message that names the session's container, and for the engine's description of
// it, if run has one. If run ends without that message, it removes the objects that run may have created.
func (m *Mode) readContainer(ctx context.Context, link *watch.Launcher) (id string, made []byte, err error) {
	for {
		var line string
		select {
		case line = <-link.Lines:
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "http":
			if address, err := m.s.Carriers.OpenHTTP(rest); err != nil {
				link.Fail(err)
			} else {
				link.Listening(address)
			}
		case "inspected":
			made = []byte(rest)
		case "container":
			id, volume, _ := strings.Cut(rest, " ")
			m.settleShare(volume)
			return id, made, nil
		default:
			m.sweepUnnamed(ctx, line == "abort")
			return "", nil, watch.ErrGone
		}
	}
}

// sweepUnnamed removes the containers of a run that ended without naming one; aborted: it had the time to remove its own.
func (m *Mode) sweepUnnamed(ctx context.Context, aborted bool) {
	patience := inFlight
	if aborted {
		patience = 2 * watch.Poll
	}
	if api, err := m.s.Engine(); err == nil {
		m.leftovers.sweep(ctx, api, patience)
	}
}

// settleShare takes note that the container has a volume in place of the share: then the
// engine sees nothing of this host.
func (m *Mode) settleShare(volume string) {
	if volume == "" {
		return
	}
	m.s.Record.Volume, m.s.Record.RemoteFiles = volume, true
	if m.s.Carriers.Relay != nil {
		m.s.Carriers.Relay.Nonce = "" // it contains none
	}
}

// setUp checks the container that was created, prepares the session for it, and lets it start. The returned
// wait ends with the container's first run. It has the start time of that run, if there was one. made is the
// engine's description of the container, or nil.
func (m *Mode) setUp(ctx context.Context, api watch.Engine, id string, made []byte, link *watch.Launcher) (began string, exit *exitWait, err error) {
	c, registered, err := m.firstLook(ctx, api, id, made)
	if err != nil {
		link.Fail(err)
		return "", nil, setUpFailed(errdefs.IsNotFound(err), err)
	}
	fresh := c.State.Status == container.StateCreated
	found := m.mounts.warnings(c)
	list := append(slices.Clone(found), m.mounts.adapt(c)...)
	if err := m.mounts.refuseNew(c); err != nil {
		if m.s.Record.Container == c.ID { // not a container to attach to, which has no session yet
			err = m.killer.killExposed(ctx, api, c, err)
		}
		link.Fail(err)
		return "", nil, setUpFailed(fresh, err)
	}
	if c.State.Running { // resumed
		m.s.Calls.Containers.RemoveLeft(ctx)
	}
	if err := m.setState(c); err != nil {
		link.Fail(err)
		return "", nil, setUpFailed(fresh, err)
	}
	if err := m.noteContainer(c, found); err != nil {
		link.Fail(err)
		return "", nil, setUpFailed(fresh, err)
	}
	list = append(list, m.s.Config.Supplied(m.s.Calls.Dirs())...)
	if m.s.Carriers.Unreachable != "" {
		list = append(list, m.s.Carriers.Unreachable)
	}
	if fresh && m.s.Record.StartedLater {
		m.s.Life.Down.Store(true) // until it runs: admission
	}
	if !m.s.Record.RemoteFiles && !runs(c) {
		m.admission.containerKnown.shut() // until the mounts of the engine are known
	}
	if exit = registered(); !fresh && !runs(c) {
		exit.drop()
		exit = nil // it is over already: the wait finds that
	}
	link.Bound(append(list, unusedFlag(m.s.Calls.Dirs())...), where(m.s.Calls.Dirs()))
	return c.State.StartedAt, exit, nil
}

// firstLook inspects container id, and registers a wait for its exit. registered returns when the engine has
// registered the wait.
func (m *Mode) firstLook(ctx context.Context, api watch.Engine, id string, made []byte) (c container.InspectResponse, registered func() *exitWait, err error) {
	if made == nil {
		exit := register(ctx, api, id)
		c, err = inspect(ctx, api, id)
		return c, func() *exitWait { return exit }, err
	}
	// The container does not run yet. The engine answers when run has copied something into it, which takes a while.
	done := make(chan *exitWait, 1)
	// ends with its request, or with ctx.
	m.s.Go(func() { done <- register(ctx, api, id) })
	if err = json.Unmarshal(made, &c); err == nil {
		err = showHostFiles(ctx, api, &c)
	}
	return c, func() *exitWait { return <-done }, err
}

// setUpFailed ends a session that could not be set up. If run is about to remove the container, the session's
// directory is removed too. A container that has run before needs the directory for its next start.
func setUpFailed(fresh bool, err error) error {
	if fresh {
		return errors.Join(watch.ErrGone, err)
	}
	return err
}

// noteRun watches for run to be killed before the container has started: then nothing of
// it stays. A run that ends any other way leaves the container to itself. An agent's
// container is its caller's, and goes with it at any time.
func (m *Mode) noteRun(ctx context.Context, api watch.Engine, id string, link *watch.Launcher) {
	select {
	case line := <-link.Lines:
		switch {
		case line == "done" && m.s.Record.StartedLater:
			m.endIfRemoved(ctx, api, id)
		case line == "done":
			m.endUnstarted(ctx, api, id)
		case line == "over":
			m.s.Life.EndUnlessKept(m.leftovers.leftOf(ctx, api, id), link)
		case m.s.Record.Agent != nil:
			m.s.Life.EndUnlessKept(m.leftovers.abandoned(ctx, api, id), link)
		default:
			if err := m.leftovers.removeUnstarted(ctx, api, id); err != nil {
				m.s.Life.Stop(err)
			}
		}
	case <-ctx.Done():
	}
}

// createdPoll is the interval between looks at a container that has not started yet.
const createdPoll = 5 * time.Second

// endIfRemoved ends the session if its container is removed before its first start. Docker's engine tells those who wait
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

// endUnstarted ends the session of a container that docker run has created and could not start, as for a
// stopped container, unless a user starts it now.
func (m *Mode) endUnstarted(ctx context.Context, api watch.Engine, id string) {
	c, err := api.ContainerInspect(ctx, id)
	if err != nil || c.State.Status != container.StateCreated {
		return // gone, or started: the wait reports which
	}
	m.s.Life.Down.Store(true)
	if err := settle(ctx, api, id); err != nil {
		m.s.Life.Stop(err)
		return
	}
	m.s.Life.Down.Store(false)
}

// waitRestart returns when the container runs again and the session is set up for it, with the start time of
// that run and a wait for its end. If the session has ended, it returns the reason.
func (m *Mode) waitRestart(ctx context.Context, api watch.Engine, id string) (began string, exit *exitWait, err error) {
	for {
		if err := settle(ctx, api, id); err != nil {
			if err = m.s.Life.WaitKeptJobs(ctx, func(ctx context.Context) error { return settled(ctx, api, id) }, err); err != nil {
				return "", nil, err
			}
		}
		exit = register(ctx, api, id)
		if began, err = m.setUpAgain(ctx, api, id); began != "" || err != nil {
			return began, exit, err
		}
		exit.drop()
		if !watch.Pause(ctx, watch.Poll) {
			return "", nil, context.Cause(ctx)
		}
	}
}

// setUpAgain prepares the session for a container that was started again. The engine has mounted its
// directories anew, and a directory may be replaced by now. setUpAgain returns the time of the container's
// start, or "" if the engine has to be asked again.
func (m *Mode) setUpAgain(ctx context.Context, api watch.Engine, id string) (began string, err error) {
	c, err := inspect(ctx, api, id)
	switch {
	case errdefs.IsNotFound(err):
		return "", nil // settle reports which
	case err != nil:
		m.s.Log.Warn("look at the container", "error", err)
		watch.Pause(ctx, watch.EnginePoll)
		return "", nil
	case !runs(c):
		return "", nil
	}
	if err := m.mounts.refuse(c); err != nil {
		return "", m.killer.killExposed(ctx, api, c, err)
	}
	if err := m.setState(c); err != nil {
		return c.State.StartedAt, err
	}
	m.updateWarnings(c, m.mounts.warnings(c))
	return c.State.StartedAt, nil
}

// checkStopped checks the mounts of a container that the engine is about to start again. It is early enough to prevent
// that, if a mount has another source already.
func (m *Mode) checkStopped(ctx context.Context, api watch.Engine, id string) error {
	c, err := inspect(ctx, api, id)
	if err != nil || !c.State.Restarting {
		return nil // setUpAgain checks the mounts that it gets
	}
	if err = m.mounts.refuse(c); !errors.As(err, new(exposedError)) {
		return nil
	}
	return m.killer.killExposed(ctx, api, c, err)
}

func (m *Mode) setState(c container.InspectResponse) error {
	if c.Config != nil && c.Config.WorkingDir != "" {
		m.s.Calls.SetWorkdir(c.Config.WorkingDir)
	}
	dirs, err := table(c, defaultDir(m.s.Record.Session, m.s.Calls.Workdir()), !m.s.Record.RemoteFiles, m.mounts.others)
	if err != nil {
		return fmt.Errorf("hold the container's mounts: %w", err)
	}
	m.s.Calls.Server.Limits.Container(pidsOf(c))
	if runs(c) {
		m.admission.noteLive(c)
	}
	m.s.Calls.Apply(strings.TrimPrefix(c.Name, "/"), dirs)
	return nil
}

// pidsOf is how many processes a container may have; 0 is any number.
func pidsOf(c container.InspectResponse) int64 {
	if c.ContainerJSONBase == nil || c.HostConfig == nil || c.HostConfig.PidsLimit == nil {
		return 0
	}
	return max(0, *c.HostConfig.PidsLimit)
}
