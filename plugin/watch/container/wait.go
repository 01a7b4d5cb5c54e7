// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	shows "github.com/docker-hostexec/hostexec/plugin/volume"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const (
	// restartDelay is the time for which a stopped container's session waits for a restart.
	restartDelay = 10 * time.Second
	// pendingTimeout is the time limit for the engine to complete requests of a launcher that was killed.
	pendingTimeout = 3 * time.Second
)

func nameOf(c container.InspectResponse) string { return strings.TrimPrefix(c.Name, "/") }

// inspect inspects container id. In its mounts, volumes that show files of this host are replaced by these files.
func inspect(ctx context.Context, api watch.Engine, id string) (container.InspectResponse, error) {
	c, err := api.ContainerInspect(ctx, id)
	if err == nil {
		err = showHostFiles(ctx, api, &c)
	}
	return c, err
}

// showHostFiles replaces the container's volumes that show files of this host by these files.
func showHostFiles(ctx context.Context, api watch.Engine, c *container.InspectResponse) error {
	for i, m := range c.Mounts {
		if m.Type != mount.TypeVolume {
			continue
		}
		v, err := api.VolumeInspect(ctx, m.Name)
		if errdefs.IsNotFound(err) { // removed with the container
			continue
		}
		if err != nil {
			return err
		}
		shown := shows.HostFiles(m, v.Driver, v.Options)
		c.Mounts[i] = shown[0]
		c.Mounts = append(c.Mounts, shown[1:]...)
	}
	return nil
}

// wait returns when the run of container id with the start time began has ended, or ctx is done. It continues after
// restarts of the engine. exit is a wait that was registered before that run was inspected, or nil.
func wait(ctx context.Context, api watch.Engine, id, began string, exit *exitWait, log *slog.Logger) error {
	for {
		var err error
		if exit == nil {
			exit = register(ctx, api, id)
			err = stillRuns(ctx, api, id, began)
		}
		if err == nil {
			select {
			case <-exit.done:
				return nil
			case err = <-exit.err:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		exit.drop()
		if errdefs.IsNotFound(err) || errors.Is(err, watch.ErrExited) {
			return nil
		}
		log.Warn("wait for container", "error", err)
		if !watch.Pause(ctx, watch.EnginePoll) {
			return context.Cause(ctx)
		}
		exit = nil
	}
}

// exitWait is a wait for the end of a container's run.
type exitWait struct {
	done <-chan container.WaitResponse
	err  <-chan error
	drop context.CancelFunc
}

// register registers a wait for the next exit of container id at the engine, so that no later exit is missed.
func register(ctx context.Context, api watch.Engine, id string) *exitWait {
	ctx, drop := context.WithCancel(ctx)
	done, err := api.ContainerWait(ctx, id, container.WaitConditionNextExit)
	return &exitWait{done, err, drop}
}

// stillRuns returns nil if the run of container id with the start time began continues, or has not begun. It returns
// ErrExited if that run has ended, or the error of the engine.
func stillRuns(ctx context.Context, api watch.Engine, id, began string) error {
	c, err := api.ContainerInspect(ctx, id)
	if err == nil && (!runs(c) && c.State.Status != container.StateCreated || c.State.StartedAt != began) {
		return watch.ErrExited
	}
	return err
}

// runs reports whether c has a process. The engine also reports a container that waits for a restart as running.
func runs(c container.InspectResponse) bool { return c.State.Running && !c.State.Restarting }

// waitFinalState returns nil when a stopped container runs again, ErrGone when it is removed, and ErrExited when it has
// not been restarted in time.
func waitFinalState(ctx context.Context, api watch.Engine, id string) error {
	deadline := time.Now().Add(restartDelay)
	for {
		wait := watch.Poll
		switch err := currentState(ctx, api, id); {
		case err == nil, errors.Is(err, watch.ErrGone):
			return err
		case errors.Is(err, errRestarting):
			deadline = time.Now().Add(restartDelay)
		case !errors.Is(err, watch.ErrExited): // the engine does not answer, and may restart the container later
			deadline, wait = time.Now().Add(restartDelay), watch.EnginePoll
		case time.Now().After(deadline):
			return watch.ErrExited
		}
		if !watch.Pause(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

var errRestarting = errors.New("the container is being restarted")

// currentState returns the state of a container: nil if it runs, ErrGone, ErrExited if it does not run, errRestarting,
// or the error of the engine.
func currentState(ctx context.Context, api watch.Engine, id string) error {
	c, err := api.ContainerInspect(ctx, id)
	switch {
	case errdefs.IsNotFound(err):
		return watch.ErrGone
	case err != nil:
		return err
	case c.State.Restarting:
		return errRestarting
	case c.State.Running:
		return nil
	}
	return watch.ErrExited
}
