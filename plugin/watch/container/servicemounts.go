// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Several containers may have the share of one service, and not all are made alike: docker compose
// run --volume says more of one. All can call as soon as they run.

// followOthers returns when ctx is done, or with an error when a container of the service's
// is there whose mounts are refused: it is told of each before it starts. Others that run get a
// relay of their own, where that is how calls come, for their run or life.
func (m *Mode) followOthers(ctx, life context.Context, api watch.Engine) error {
	made := serviceFilter(m.s.Record)
	made.Add("event", string(events.ActionCreate))
	made.Add("event", string(events.ActionStart))
	for wait := watch.EnginePoll; ; wait = min(2*wait, engineSilence) {
		told, failed := api.Events(ctx, events.ListOptions{Since: "0", Filters: made}) // as in keepName
		if err := m.checkOthers(ctx, life, api); err != nil {
			return err
		}
		for over := false; !over; {
			select {
			case <-told:
				if err := m.checkOthers(ctx, life, api); err != nil {
					return err
				}
				wait = watch.EnginePoll
			case err := <-failed:
				m.s.Log.Debug("hear of other containers", "error", err)
				over = true
			}
		}
		if !watch.Pause(ctx, wait) {
			return nil
		}
	}
}

// checkOthers looks at all of them while calls are answered, which wait for as long as it is in
// doubt whether one that is there may be. It returns nil when ctx is done.
func (m *Mode) checkOthers(ctx, life context.Context, api watch.Engine) error {
	run, err := m.checkAll(ctx, api)
	var unseen unknownMountsError
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		m.relayOthers(life, api, run)
		return nil
	case !errors.As(err, &unseen):
		return err
	case unseen.away:
		m.s.Log.Debug("look for other containers", "error", err)
		return nil
	}
	m.admission.othersUnknown.shut()
	if run, err = m.awaitMounts(ctx, api); ctx.Err() != nil {
		return nil
	}
	if err == nil {
		m.relayOthers(life, api, run)
	}
	return err
}

// relayOthers gives those that run a relay each, but for the one that is shown.
func (m *Mode) relayOthers(life context.Context, api watch.Engine, run []string) {
	for _, id := range run {
		if id != m.s.Record.Container {
			m.transport.relayOther(life, api, id)
		}
	}
}

// awaitMounts calls checkAll until that knows the mounts of all containers, and returns what it returns. Then
// there is no doubt.
func (m *Mode) awaitMounts(ctx context.Context, api watch.Engine) (run []string, err error) {
	for said := ""; ; {
		run, err = m.checkAll(ctx, api)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			m.admission.othersUnknown.open()
			return run, nil
		case !errors.As(err, new(unknownMountsError)):
			return nil, err
		}
		if text := err.Error(); text != said {
			said = text
			m.s.Log.Warn("calls wait: look at the service's containers", "error", err)
		}
		if !watch.Pause(ctx, watch.EnginePoll) {
			return nil, context.Cause(ctx)
		}
	}
}

// unknownMountsError says why it is not known of a container, or of all, what it mounts.
type unknownMountsError struct {
	error
	away bool // the engine is, which starts none then
}

// checkAll refuses mounts of the service's containers, including those that
// are about to start with them. One that is gone again is passed over, and no other that cannot
// be looked at. It returns those that run.
func (m *Mode) checkAll(ctx context.Context, api watch.Engine) (run []string, err error) {
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: serviceFilter(m.s.Record)})
	if err != nil {
		return nil, unknownMountsError{err, client.IsErrConnectionFailed(err)}
	}
	var others []string
	for _, s := range list {
		if s.State == container.StateExited || s.State == container.StateDead {
			continue // looked at when it starts
		}
		c, err := inspect(ctx, api, s.ID)
		if errdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, unknownMountsError{error: fmt.Errorf("look at container %.12s: %w", s.ID, err)}
		}
		if !has(c, m.s.Record.Dir) {
			continue // made without us
		}
		if err := m.mounts.refuse(c); err != nil {
			return nil, fmt.Errorf("container %s: %w", strings.TrimPrefix(c.Name, "/"), err)
		}
		m.s.Calls.AddSupplied(m.mounts.addOther(c))
		if c.State.Running {
			run = append(run, c.ID)
		}
		if c.ID != m.s.Record.Container {
			for _, text := range warnings(c) {
				others = append(others, fmt.Sprintf("container %s: %s", strings.TrimPrefix(c.Name, "/"), text))
			}
		}
	}
	m.s.Warnings.SetOthers(others)
	return run, nil
}
