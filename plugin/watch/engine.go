// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"

	room "github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/state"
	shows "github.com/docker-hostexec/hostexec/plugin/volume"
)

// Engine is what the watcher needs of an engine: that of commands' containers, a look, and
// an exec for a relay.
type Engine interface {
	room.Engine
	DaemonHost() string // as DOCKER_HOST names it
	NegotiateAPIVersion(ctx context.Context)
	Info(ctx context.Context) (system.Info, error)
	Events(ctx context.Context, o events.ListOptions) (<-chan events.Message, <-chan error)
	VolumeList(ctx context.Context, o volume.ListOptions) (volume.ListResponse, error)
	VolumeRemove(ctx context.Context, name string, force bool) error
	VolumeInspect(ctx context.Context, name string) (volume.Volume, error)
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)
	ContainerStop(ctx context.Context, id string, opts container.StopOptions) error
}

const (
	// restartDelay is how long a stopped container's session waits for it to start again.
	restartDelay = 10 * time.Second
	// looking is how often it looks meanwhile.
	looking = 200 * time.Millisecond
	// absent is how often a session whose engine is away tries to reach it.
	absent = time.Second
	// inFlight is how long a creation or start that run asked for may still take
	// effect after run was killed.
	inFlight = 3 * time.Second
)

// inspect asks for container id. A volume that shows files of this host's is among its mounts
// as what it is.
func inspect(ctx context.Context, api Engine, id string) (container.InspectResponse, error) {
	c, err := api.ContainerInspect(ctx, id)
	if err == nil {
		err = showHostFiles(ctx, api, &c)
	}
	return c, err
}

// showHostFiles replaces the volumes among the container's mounts that show files of this host's by what they are.
func showHostFiles(ctx context.Context, api Engine, c *container.InspectResponse) error {
	for i, m := range c.Mounts {
		if m.Type != mount.TypeVolume {
			continue
		}
		v, err := api.VolumeInspect(ctx, m.Name)
		if errdefs.IsNotFound(err) { // it went with the container
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

// Mounts are those of container ref, as a watcher looks at them.
func Mounts(ctx context.Context, api Engine, ref string) ([]container.MountPoint, error) {
	c, err := inspect(ctx, api, ref)
	return c.Mounts, err
}

// wait returns when the run of container id that began at that time is over, or ctx is done.
// It outlasts restarts of the engine. exit is a wait that was registered before that run was
// looked at, or nil.
func (w *Watcher) wait(ctx context.Context, api Engine, id, began string, exit *exitWait) error {
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
		if errdefs.IsNotFound(err) || errors.Is(err, errOver) {
			return nil
		}
		w.log.Warn("wait for container", "error", err)
		if !pause(ctx, absent) {
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

// register asks to be told when container id exits next. The engine has taken note when it
// returns: no run that is looked at after that ends unheard.
func register(ctx context.Context, api Engine, id string) *exitWait {
	ctx, drop := context.WithCancel(ctx)
	done, err := api.ContainerWait(ctx, id, container.WaitConditionNextExit)
	return &exitWait{done, err, drop}
}

// stillRuns returns nil if the run of container id that began at that time goes on, errOver if
// it does not, or why that is not known.
func stillRuns(ctx context.Context, api Engine, id, began string) error {
	c, err := api.ContainerInspect(ctx, id)
	if err == nil && (!runs(c) || c.State.StartedAt != began) {
		return errOver
	}
	return err
}

// runs reports whether c has a process. One that waits to be restarted is said to run, too.
func runs(c container.InspectResponse) bool { return c.State.Running && !c.State.Restarting }

// settle looks at a container that does not run until it is known what becomes of it:
// nil when it runs again, errGone, or errOver.
func (w *Watcher) settle(ctx context.Context, api Engine, id string) error {
	over := time.Now().Add(restartDelay)
	for {
		wait := looking
		switch err := settled(ctx, api, id); {
		case err == nil, errors.Is(err, errGone):
			return err
		case errors.Is(err, errRestarting):
			over = time.Now().Add(restartDelay)
		case !errors.Is(err, errOver): // the engine is away: what it does with the container comes after
			over, wait = time.Now().Add(restartDelay), absent
		case time.Now().After(over):
			return errOver
		}
		if !pause(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

var errRestarting = errors.New("the container is being restarted")

// settled says what has become of a container: nil if it runs, errGone, errOver if it does
// not run, errRestarting, or why that is not known.
func settled(ctx context.Context, api Engine, id string) error {
	c, err := api.ContainerInspect(ctx, id)
	switch {
	case errdefs.IsNotFound(err):
		return errGone
	case err != nil:
		return err
	case c.State.Restarting:
		return errRestarting
	case c.State.Running:
		return nil
	}
	return errOver
}

// sweep removes the containers that run asked for before it was killed. One may still be
// in the making, so it keeps looking for a while.
func (w *Watcher) sweep(ctx context.Context, api Engine, patience time.Duration) {
	mine := filters.NewArgs(filters.Arg("label", state.Label+"="+w.rec.ID))
	for over := time.Now().Add(patience); ; {
		list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: mine})
		if err != nil {
			w.log.Warn("look for leftovers", "error", err)
		}
		for _, c := range list {
			w.remove(ctx, api, c.ID)
		}
		if time.Now().After(over) || !pause(ctx, looking) {
			if w.rec.Relay {
				w.sweepVolumes(api)
			}
			return
		}
	}
}

// sweepVolumes removes the volumes that hold the session's share. The session's end must not
// end this.
func (w *Watcher) sweepVolumes(api Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	mine := filters.NewArgs(filters.Arg("label", state.Label+"="+w.rec.ID))
	list, err := api.VolumeList(ctx, volume.ListOptions{Filters: mine})
	for _, v := range list.Volumes {
		err = errors.Join(err, api.VolumeRemove(ctx, v.Name, false))
	}
	if err != nil {
		w.log.Warn("remove the volume", "error", err)
	}
}

// removeUnstarted removes container id if run was killed between its creation and its start.
func (w *Watcher) removeUnstarted(ctx context.Context, api Engine, id string) error {
	for over := time.Now().Add(inFlight); ; {
		c, err := api.ContainerInspect(ctx, id)
		switch {
		case errdefs.IsNotFound(err):
			return errGone
		case err == nil && c.State.Status != container.StateCreated:
			return nil
		case time.Now().After(over):
			w.remove(ctx, api, id)
			return errGone
		}
		if !pause(ctx, looking) {
			return context.Cause(ctx)
		}
	}
}

// abandoned ends the container of an agent whose caller was killed. It returns what is left.
func (w *Watcher) abandoned(ctx context.Context, api Engine, id string) error {
	seconds := int(AgentGrace / time.Second)
	if err := api.ContainerStop(ctx, id, container.StopOptions{Timeout: &seconds}); err != nil && !errdefs.IsNotFound(err) {
		w.log.Warn("stop the agent's container", "error", err)
	}
	c, err := api.ContainerInspect(ctx, id)
	if err == nil && (!w.rec.Agent.Keep || c.State.Status == container.StateCreated) {
		w.remove(ctx, api, id)
	}
	return w.leftOf(ctx, api, id)
}

// leftOf tells a container that was removed from one that has only ended. Somebody else's
// removal may still be under way.
func (w *Watcher) leftOf(ctx context.Context, api Engine, id string) error {
	for over := time.Now().Add(inFlight); ; {
		_, err := api.ContainerInspect(ctx, id)
		switch {
		case errdefs.IsNotFound(err):
			return errGone
		case w.rec.Agent.Keep || time.Now().After(over) || !pause(ctx, looking):
			return errOver
		}
	}
}

func (w *Watcher) remove(ctx context.Context, api Engine, id string) {
	err := api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		w.log.Warn("remove leftover", "container", id, "error", errors.Unwrap(err))
	}
}
