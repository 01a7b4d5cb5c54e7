// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
)

// follow stays with the session's container, from before it starts, until it is over. It
// returns why: errGone when nothing of the session need stay.
func (w *Watcher) follow(ctx context.Context, link *uplink) error {
	link.ready()
	id, err := w.hearID(ctx, link)
	if err != nil {
		return err
	}
	api, err := w.Engine()
	if err != nil {
		link.fail(err)
		return err
	}
	exit, err := w.adopt(ctx, api, id, link)
	if err != nil {
		return err
	}
	// ends with run, or with ctx.
	w.wg.Go(func() { w.noteRun(ctx, api, id, link) })
	for {
		if err := w.wait(ctx, api, id, exit); err != nil {
			return err
		}
		exit = nil
		w.down.Store(true)
		if err := w.settle(ctx, api, id); err != nil {
			return err
		}
		// Its mounts were made anew: so is the table, or a directory that was replaced
		// meanwhile would still be the one before.
		if err := w.arrange(ctx, api, id); err != nil {
			return err
		}
		w.down.Store(false)
		if !pause(ctx, looking) { // an engine that says both "runs" and "does not" is not asked in a circle
			return context.Cause(ctx)
		}
	}
}

// hearID waits to be told which container the session is for. When run ends without
// saying, what it may have left behind is removed.
func (w *Watcher) hearID(ctx context.Context, link *uplink) (string, error) {
	select {
	case line := <-link.lines:
		if id, ok := strings.CutPrefix(line, "container "); ok {
			return id, nil
		}
		patience := inFlight
		if line == "abort" {
			patience = 2 * looking
		}
		if api, err := w.Engine(); err == nil {
			w.sweep(ctx, api, patience)
		}
		return "", errGone
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// adopt looks at the container that was created, sets the session up for it, and lets it
// start. The returned wait ends with the container's first run.
func (w *Watcher) adopt(ctx context.Context, api Engine, id string, link *uplink) (*exitWait, error) {
	c, err := inspect(ctx, api, id)
	if err != nil {
		link.fail(err)
		return nil, w.unadopted(errdefs.IsNotFound(err), err)
	}
	fresh := c.State.Status == container.StateCreated
	if err := w.preflight(c); err != nil {
		link.fail(err)
		return nil, w.unadopted(fresh, err)
	}
	until := container.WaitConditionNextExit
	if c.State.Running { // resumed
		w.sweepRooms(ctx, api)
		until = container.WaitConditionNotRunning
	}
	exit := register(ctx, api, id, until)
	if err := w.setScene(c); err != nil {
		link.fail(err)
		return nil, w.unadopted(fresh, err)
	}
	w.rec.Container, w.rec.ContainerName, w.rec.Image = id, strings.TrimPrefix(c.Name, "/"), c.Config.Image
	if err := w.store.Save(&w.rec); err != nil {
		link.fail(err)
		return nil, w.unadopted(fresh, err)
	}
	link.bound(warnings(c))
	return exit, nil
}

// unadopted is the end of a session that could not be set up. Its folder goes with a
// container that run is about to remove; one that has run, and is only resumed, needs it
// to be started again.
func (w *Watcher) unadopted(fresh bool, err error) error {
	if fresh {
		return errors.Join(errGone, err)
	}
	return err
}

// noteRun watches for run to be killed before the container has started: then nothing of
// it stays. A run that ends any other way leaves the container to itself.
func (w *Watcher) noteRun(ctx context.Context, api Engine, id string, link *uplink) {
	select {
	case line := <-link.lines:
		if line == "done" {
			return
		}
		if err := w.unstarted(ctx, api, id); err != nil {
			w.stop(err)
		}
	case <-ctx.Done():
	}
}

// arrange sets the session up for a container that was started again.
func (w *Watcher) arrange(ctx context.Context, api Engine, id string) error {
	c, err := inspect(ctx, api, id)
	if err != nil {
		return nil // gone again, or the engine is: the wait will tell
	}
	return w.setScene(c)
}

func (w *Watcher) setScene(c container.InspectResponse) error {
	fallback := w.rec.WorkdirHost
	if fallback == "" {
		fallback = w.rec.InvokedIn
	}
	dirs, err := table(c, fallback)
	if err != nil {
		return fmt.Errorf("hold the container's mounts: %w", err)
	}
	name := strings.TrimPrefix(c.Name, "/")
	w.scene.Lock()
	defer w.scene.Unlock()
	w.server.SetScene(&call.Scene{
		Session:   w.rec.ID,
		Project:   filepath.Base(w.rec.InvokedIn),
		Branch:    branch(w.rec.InvokedIn),
		Container: name,
		Policy:    w.configure(w.load()),
		Audit:     w.audit.Named(name),
		Dirs:      dirs,
		PassEnv:   w.rec.PassEnv,
		NewPrivs:  w.rec.NewPrivs,
		Find:      func(name string) (string, bool) { return executor.LookPath(name, os.Getenv("PATH")) },
		Scratch:   filepath.Join(w.Dir, "scratch"),

		Recordings: w.store.Recordings(),
		Elsewhere:  w.elsewhere(dirs),
		Inside:     w.reach,
	})
	old := w.dirs
	w.dirs = dirs
	if old != nil {
		old.Close()
	}
	return nil
}
