// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// readContainer waits for the message that names the session's container, and for the engine's description of it, if
// the launcher has one. If the launcher of a new container ends without that message, readContainer removes the objects
// that the launcher may have created.
func (m *Mode) readContainer(ctx context.Context, conn *watch.LauncherConn) (id string, made []byte, err error) {
	for {
		var line string
		select {
		case line = <-conn.Lines:
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "http":
			if address, err := m.s.Carriers.OpenHTTP(rest); err != nil {
				conn.Fail(err)
			} else {
				conn.Listening(address)
			}
		case "inspected":
			made = []byte(rest)
		case "container":
			id, volume, _ := strings.Cut(rest, " ")
			m.setVolume(volume)
			return id, made, nil
		default:
			if m.s.Record.Session().Container != "" { // a user's own, for example of docker hostexec start
				return "", nil, errNotAwaited
			}
			m.removeUnnamed(ctx, line == "abort")
			return "", nil, watch.ErrGone
		}
	}
}

// removeUnnamed removes the containers of a launcher that ended without naming one. aborted means that the launcher was
// not killed, so it has already removed its container.
func (m *Mode) removeUnnamed(ctx context.Context, aborted bool) {
	timeout := pendingTimeout
	if aborted {
		timeout = 2 * watch.Poll
	}
	if api, err := m.s.Engine(); err == nil {
		m.leftovers.removeContainers(ctx, api, timeout)
	}
}

// setVolume takes note that the container has a volume in place of the share: then the
// engine sees nothing of this host.
func (m *Mode) setVolume(volume string) {
	if volume == "" {
		return
	}
	m.s.Record.Change(func(rec *state.Session) { rec.Volume, rec.RemoteFiles = volume, true })
	if m.s.Carriers.Relay != nil {
		m.s.Carriers.Relay.Nonce = "" // the volume contains no nonce
	}
}

// setUp checks the container that was created, prepares the session for it, and lets it start. exit ends with the
// container's first run, and began is the start time of that run, if there was one. made is the engine's description of
// the container, or nil.
func (m *Mode) setUp(ctx context.Context, api watch.Engine, id string, made []byte, conn *watch.LauncherConn) (began string, exit *exitWait, err error) {
	c, registered, err := m.inspectFirst(ctx, api, id, made)
	if err != nil {
		conn.Fail(err)
		return "", nil, setUpFailed(errdefs.IsNotFound(err), err)
	}
	fresh := c.State.Status == container.StateCreated
	own := fresh && !m.existed(c.ID)
	found := m.mounts.warnings(c)
	list := append(slices.Clone(found), m.mounts.adapt(c)...)
	if err := awaitCheck(ctx, conn, func() error { return m.mounts.refuseNew(c) }); err != nil {
		return "", nil, m.checkFailed(ctx, api, c, conn, err)
	}
	if c.State.Running { // resumed
		m.s.Calls.Containers.RemoveLeftovers(ctx)
	}
	if err := m.configureCalls(c); err != nil {
		conn.Fail(err)
		return "", nil, setUpFailed(own, err)
	}
	if err := m.noteContainer(c, found); err != nil {
		conn.Fail(err)
		return "", nil, setUpFailed(own, err)
	}
	list = append(list, m.s.Config.WritableCode(m.s.Calls.Dirs())...)
	if m.s.Carriers.HTTPUnreachable != "" {
		list = append(list, m.s.Carriers.HTTPUnreachable)
	}
	if fresh && m.s.Record.Session().StartedLater {
		m.s.Life.Down.Store(true) // until admission finds that it runs
	}
	if !m.s.Record.Session().RemoteFiles && !runs(c) {
		m.admission.containerKnown.shut() // until the mounts of the engine are known
	}
	if exit = registered(); !fresh && !runs(c) {
		exit.drop()
		exit = nil // the run has ended, which wait finds
	}
	m.bound(conn, c, list)
	return c.State.StartedAt, exit, nil
}

// errNotAwaited means that the launcher has ended, and its container needs no session.
var errNotAwaited = errors.New("the launcher has ended")

// awaitCheck returns the result of check. It does not wait any more when ctx is done, or when the launcher has ended. It
// sends nothing before the result.
func awaitCheck(ctx context.Context, conn *watch.LauncherConn, check func() error) error {
	checked := make(chan error, 1)
	// ends with the check, or with this process: the file system of a program may not answer.
	go func() { checked <- check() }()
	select {
	case err := <-checked:
		return err
	case <-conn.Lines:
		return errNotAwaited
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkFailed ends the session of container c, whose check has returned err. It returns the reason for the end.
func (m *Mode) checkFailed(ctx context.Context, api watch.Engine, c container.InspectResponse, conn *watch.LauncherConn, err error) error {
	own := c.State.Status == container.StateCreated && !m.existed(c.ID)
	switch {
	case errors.Is(err, errNotAwaited) && own:
		if gone := m.leftovers.removeUnstarted(ctx, api, c.ID); gone != nil {
			return gone
		}
		own = false // another client has started it
	case errors.Is(err, errNotAwaited), errors.Is(err, context.Cause(ctx)):
	case m.s.Record.Session().Container == c.ID: // a container to attach to has no session yet, and is not killed
		err = m.killer.killExposed(ctx, api, c, err)
	}
	conn.Fail(err)
	return setUpFailed(own, err)
}

// existed reports whether container id existed before its launcher. It is valid until noteContainer.
func (m *Mode) existed(id string) bool {
	rec := m.s.Record.Session()
	return rec.Container == id || rec.Attached
}

// inspectFirst inspects container id, and registers a wait for its exit. registered returns when the engine has
// registered the wait.
func (m *Mode) inspectFirst(ctx context.Context, api watch.Engine, id string, made []byte) (c container.InspectResponse, registered func() *exitWait, err error) {
	if made == nil {
		exit := register(ctx, api, id)
		c, err = inspect(ctx, api, id)
		return c, func() *exitWait { return exit }, err
	}
	// The container does not run yet. While run copies files into it, the engine does not answer.
	done := make(chan *exitWait, 1)
	// ends with its request, or with ctx.
	m.s.Go(func() { done <- register(ctx, api, id) })
	if err = json.Unmarshal(made, &c); err == nil {
		err = showHostFiles(ctx, api, &c)
	}
	return c, func() *exitWait { return <-done }, err
}

// setUpFailed returns why a session that could not be set up ends. gone means that its container is gone, or that the
// launcher has just created it and is about to remove it. Then the error includes ErrGone, so that the session's
// directory is removed too. Any other container needs the directory for its next start.
func setUpFailed(gone bool, err error) error {
	if gone {
		return errors.Join(watch.ErrGone, err)
	}
	return err
}

func (m *Mode) configureCalls(c container.InspectResponse) error {
	if c.Config != nil && c.Config.WorkingDir != "" {
		m.s.Calls.SetWorkdir(c.Config.WorkingDir)
	}
	dirs, err := mountTable(c, defaultDir(*m.s.Record.Session(), m.s.Calls.Workdir()), !m.s.Record.Session().RemoteFiles, m.mounts.others)
	if err != nil {
		return fmt.Errorf("hold the container's mounts: %w", err)
	}
	m.s.Calls.Server.Limits.SetPidsLimit(pidsOf(c))
	if runs(c) {
		m.admission.noteLive(c)
	}
	m.s.Calls.Apply(nameOf(c), dirs)
	return nil
}

// pidsOf returns the maximum number of processes of a container, or 0 without a limit.
func pidsOf(c container.InspectResponse) int64 {
	if c.ContainerJSONBase == nil || c.HostConfig == nil || c.HostConfig.PidsLimit == nil {
		return 0
	}
	return max(0, *c.HostConfig.PidsLimit)
}
