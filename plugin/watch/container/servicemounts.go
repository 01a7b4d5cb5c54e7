// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Several containers, with different mounts, may mount the share of one dev container. Each can call as soon as it runs.

// followOthers checks each container that mounts the share, which the engine reports before its start. It returns an
// error if a mount is refused, and nil when ctx is done.
func (m *Mode) followOthers(ctx context.Context, api watch.Engine) error {
	wanted := serviceFilter(m.s.Record)
	wanted.Add("event", string(events.ActionCreate))
	wanted.Add("event", string(events.ActionStart))
	return followEvents(ctx, api, wanted, m.s.Log, func(events.Action) error { return m.checkOthers(ctx, api) })
}

// checkOthers checks the mounts of all these containers. Calls wait only while the mounts of a container are unknown.
// It returns nil when ctx is done.
func (m *Mode) checkOthers(ctx context.Context, api watch.Engine) error {
	err := m.checkAll(ctx, api)
	var unseen unknownMountsError
	switch {
	case ctx.Err() != nil, err == nil:
		return nil
	case !errors.As(err, &unseen):
		return err
	case unseen.away:
		m.s.Log.Debug("look for other containers", "error", err)
		return nil
	}
	m.admission.othersUnknown.shut()
	if err = m.awaitMounts(ctx, api); ctx.Err() != nil {
		return nil
	}
	return err
}

// awaitMounts calls checkAll until the mounts of all containers are known.
func (m *Mode) awaitMounts(ctx context.Context, api watch.Engine) error {
	for lastLogged := ""; ; {
		err := m.checkAll(ctx, api)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			m.admission.othersUnknown.open()
			return nil
		case !errors.As(err, new(unknownMountsError)):
			return err
		}
		if text := err.Error(); text != lastLogged {
			lastLogged = text
			m.s.Log.Warn("calls wait: look at other containers with the share", "error", err)
		}
		if !watch.Pause(ctx, watch.EnginePoll) {
			return context.Cause(ctx)
		}
	}
}

// unknownMountsError is the reason why the mounts of a container, or of all containers, are unknown.
type unknownMountsError struct {
	error
	away bool // the engine does not answer, so it starts no container
}

// checkAll refuses mounts of the containers that mount the share, including those that are about to start. A container
// that cannot be inspected is an error, unless it has been removed.
func (m *Mode) checkAll(ctx context.Context, api watch.Engine) error {
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: serviceFilter(m.s.Record)})
	if err != nil {
		return unknownMountsError{err, client.IsErrConnectionFailed(err)}
	}
	var others []string
	var refused []error
	for _, s := range list {
		if s.State == container.StateExited || s.State == container.StateDead {
			continue // checked when it starts
		}
		c, err := inspect(ctx, api, s.ID)
		if errdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return unknownMountsError{error: fmt.Errorf("look at container %.12s: %w", s.ID, err)}
		}
		if !mountsShare(c, m.s.Record.Dir) {
			continue // created without the share
		}
		if err := m.mounts.refuse(c); err != nil {
			err = fmt.Errorf("container %s: %w", nameOf(c), err)
			refused = append(refused, m.killer.killExposed(ctx, api, c, err))
			continue
		}
		m.s.Calls.AddWritable(m.mounts.addOther(c))
		if c.ID != m.s.Record.Session().Container {
			for _, text := range warnings(c) {
				others = append(others, fmt.Sprintf("container %s: %s", nameOf(c), text))
			}
		}
	}
	m.s.Warnings.SetOthers(others)
	return errors.Join(refused...)
}
