// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"

	"github.com/containerd/errdefs"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// waitRestart returns when the container runs again and the session is prepared for it. It returns the start time of
// that run and a wait for its end, or the reason for the end of the session.
func (m *Mode) waitRestart(ctx context.Context, api watch.Engine, id string) (began string, exit *exitWait, err error) {
	for {
		if err := waitFinalState(ctx, api, id); err != nil {
			if err = m.s.Life.WaitKeptJobs(ctx, func(ctx context.Context) error { return currentState(ctx, api, id) }, err); err != nil {
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

// setUpAgain prepares the session for a restarted container. The engine has mounted its directories again, which may
// have been replaced. setUpAgain returns the time of the container's start, or "" if the caller must retry.
func (m *Mode) setUpAgain(ctx context.Context, api watch.Engine, id string) (began string, err error) {
	c, err := inspect(ctx, api, id)
	switch {
	case errdefs.IsNotFound(err):
		return "", nil // waitFinalState returns the reason
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
	if err := m.configureCalls(c); err != nil {
		return c.State.StartedAt, err
	}
	m.updateWarnings(c, m.mounts.warnings(c))
	return c.State.StartedAt, nil
}

// checkStopped checks the mounts of a container that the engine is about to start again. So it can prevent the start if
// the source of a mount has been replaced.
func (m *Mode) checkStopped(ctx context.Context, api watch.Engine, id string) error {
	c, err := inspect(ctx, api, id)
	if err != nil || !c.State.Restarting {
		return nil // setUpAgain checks the mounts after the start
	}
	if err = m.mounts.refuse(c); !errors.As(err, new(exposedError)) {
		return nil
	}
	return m.killer.killExposed(ctx, api, c, err)
}
