// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// follow stays with the session's container, from before it starts, until it is over. It
// returns why: ErrGone when nothing of the session need stay.
func (w *Watcher) follow(ctx context.Context, link *watcherLink) (err error) {
	link.ready()
	if w.Record.OnHost() {
		return w.followProcess(ctx, link)
	}
	// ends with its request, or with ctx.
	w.wg.Go(func() { w.connectEngine(ctx) })
	id, err := w.readContainerID(ctx, link)
	if err != nil {
		return err
	}
	api, err := w.Engine()
	if err != nil {
		link.fail(err)
		return err
	}
	defer func() {
		if errors.Is(err, ErrGone) && w.Record.Volume != "" {
			w.leftovers.sweepVolumes(api)
		}
	}()
	began, exit, err := w.setUp(ctx, api, id, link)
	if err != nil {
		return err
	}
	// end with run, or with ctx.
	w.wg.Go(func() { w.noteRun(ctx, api, id, link) })
	if w.Life.Agent != nil {
		w.wg.Go(func() { w.stopAgent(ctx, api, id, link) })
	}
	w.wg.Go(func() { w.transport.settle(ctx, api, id) })
	w.wg.Go(func() { w.keepName(ctx, api, id) })
	if w.Carriers.ByFiles {
		w.wg.Go(func() { w.requests.watch(ctx, api, id) })
	}
	looked := w.admission.lookAtStart(ctx, api, id)
	for {
		err := w.wait(ctx, api, id, began, exit)
		looked()
		if err != nil {
			return err
		}
		w.admission.containerKnown.shut() // until it is known what it mounts when it runs again
		w.Life.Down.Store(true)
		if began, exit, err = w.again(ctx, api, id); err != nil {
			return err
		}
		w.noteName(ctx, api, id) // it may have been renamed since the look of above
		w.Life.Down.Store(false)
		w.admission.containerKnown.open()
		if !Pause(ctx, Poll) { // an engine that says both "runs" and "does not" is not asked in a circle
			return context.Cause(ctx)
		}
	}
}

// connectEngine connects to the engine, and agrees on a version with it, while the container is made.
func (w *Watcher) connectEngine(ctx context.Context) {
	if api, err := w.Engine(); err == nil { // else it is told when it matters
		api.NegotiateAPIVersion(ctx)
	}
}

// readContainerID waits to be told which container the session is for. When run ends without
// saying, what it may have left behind is removed.
func (w *Watcher) readContainerID(ctx context.Context, link *watcherLink) (string, error) {
	select {
	case line := <-link.lines:
		if text, ok := strings.CutPrefix(line, "http "); ok {
			if address, err := w.Carriers.OpenHTTP(text); err != nil {
				link.fail(err)
			} else {
				link.listening(address)
			}
			return w.readContainerID(ctx, link)
		}
		if id, ok := strings.CutPrefix(line, "container "); ok {
			id, volume, _ := strings.Cut(id, " ")
			w.settleShare(volume)
			return id, nil
		}
		patience := inFlight
		if line == "abort" {
			patience = 2 * Poll
		}
		if api, err := w.Engine(); err == nil {
			w.leftovers.sweep(ctx, api, patience)
		}
		return "", ErrGone
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// settleShare takes note that the container has a volume in place of the share: then the
// engine sees nothing of this host.
func (w *Watcher) settleShare(volume string) {
	if volume == "" {
		return
	}
	w.Record.Volume, w.Record.RemoteFiles = volume, true
	if w.Carriers.Relay != nil {
		w.Carriers.Relay.Nonce = "" // there is none in it
	}
}

// setUp looks at the container that was created, sets the session up for it, and lets it
// start. The returned wait ends with the container's first run, of which it is said when it
// began, if it has.
func (w *Watcher) setUp(ctx context.Context, api Engine, id string, link *watcherLink) (began string, exit *exitWait, err error) {
	exit = register(ctx, api, id)
	c, err := inspect(ctx, api, id)
	if err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(errdefs.IsNotFound(err), err)
	}
	fresh := c.State.Status == container.StateCreated
	found := w.mounts.warnings(c)
	list := append(slices.Clone(found), w.mounts.adapt(c)...)
	if err := w.mounts.refuse(c); err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(fresh, err)
	}
	if c.State.Running { // resumed
		w.CallContainers.RemoveLeft(ctx)
	}
	if !fresh && !runs(c) {
		exit.drop()
		exit = nil // it is over already: the wait finds that
	}
	if err := w.setState(c); err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(fresh, err)
	}
	w.Record.Container, w.Record.ContainerName, w.Record.Image = id, strings.TrimPrefix(c.Name, "/"), c.Config.Image
	w.Record.Writable = w.Calls.Dirs().Sources()
	w.warn(c, found)
	if err := w.Record.Save(); err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(fresh, err)
	}
	list = append(list, w.Config.Supplied(w.Calls.Dirs())...)
	if w.Carriers.Unreachable != "" {
		list = append(list, w.Carriers.Unreachable)
	}
	if !w.Record.RemoteFiles && !runs(c) {
		w.admission.containerKnown.shut() // until it is known what the engine has mounted
	}
	link.bound(list, where(w.Calls.Dirs()))
	return c.State.StartedAt, exit, nil
}

// setUpFailed is the end of a session that could not be set up. Its folder goes with a
// container that run is about to remove; one that has run, and is only resumed, needs it
// to be started again.
func (w *Watcher) setUpFailed(fresh bool, err error) error {
	if fresh {
		return errors.Join(ErrGone, err)
	}
	return err
}

// noteRun watches for run to be killed before the container has started: then nothing of
// it stays. A run that ends any other way leaves the container to itself. An agent's
// container is its caller's, and goes with it at any time.
func (w *Watcher) noteRun(ctx context.Context, api Engine, id string, link *watcherLink) {
	select {
	case line := <-link.lines:
		switch {
		case line == "done":
			w.endUnstarted(ctx, api, id)
		case line == "over":
			w.Life.EndUnlessKept(w.leftovers.leftOf(ctx, api, id), link)
		case w.Record.Agent != nil:
			w.Life.EndUnlessKept(w.leftovers.abandoned(ctx, api, id), link)
		default:
			if err := w.leftovers.removeUnstarted(ctx, api, id); err != nil {
				w.Life.Stop(err)
			}
		}
	case <-ctx.Done():
	}
}

// endUnstarted ends the session of a container that docker run has made and could not start, as
// that of a stopped one, unless somebody starts it meanwhile.
func (w *Watcher) endUnstarted(ctx context.Context, api Engine, id string) {
	c, err := api.ContainerInspect(ctx, id)
	if err != nil || c.State.Status != container.StateCreated {
		return // gone, or it has started: the wait will tell
	}
	w.Life.Down.Store(true)
	if err := w.settle(ctx, api, id); err != nil {
		w.Life.Stop(err)
		return
	}
	w.Life.Down.Store(false)
}

// again returns when the container runs again and the session is set up for it, with when
// that run began and a wait for its end; or with why there is no session any more.
func (w *Watcher) again(ctx context.Context, api Engine, id string) (began string, exit *exitWait, err error) {
	for {
		if err := w.settle(ctx, api, id); err != nil {
			if err = w.Life.WaitKeptJobs(ctx, func(ctx context.Context) error { return settled(ctx, api, id) }, err); err != nil {
				return "", nil, err
			}
		}
		exit = register(ctx, api, id)
		if began, err = w.setUpAgain(ctx, api, id); began != "" || err != nil {
			return began, exit, err
		}
		exit.drop()
		if !Pause(ctx, Poll) {
			return "", nil, context.Cause(ctx)
		}
	}
}

// setUpAgain sets the session up for a container that was started again. Its mounts were made
// anew: a directory that it could write may lead elsewhere by now, to what preflight refuses.
// It returns when the container was started, or "" if that has to be asked again.
func (w *Watcher) setUpAgain(ctx context.Context, api Engine, id string) (began string, err error) {
	c, err := inspect(ctx, api, id)
	switch {
	case errdefs.IsNotFound(err):
		return "", nil // settle tells
	case err != nil:
		w.log.Warn("look at the container", "error", err)
		Pause(ctx, EnginePoll)
		return "", nil
	case !runs(c):
		return "", nil
	}
	if err := w.mounts.refuse(c); err != nil {
		return "", err
	}
	if err := w.setState(c); err != nil {
		return c.State.StartedAt, err
	}
	w.rewarn(c, w.mounts.warnings(c))
	return c.State.StartedAt, nil
}

func (w *Watcher) setState(c container.InspectResponse) error {
	if c.Config != nil && c.Config.WorkingDir != "" {
		w.Calls.SetWorkdir(c.Config.WorkingDir)
	}
	dirs, err := table(c, defaultDir(w.Record.Session, w.Calls.Workdir()), !w.Record.RemoteFiles, w.mounts.others)
	if err != nil {
		return fmt.Errorf("hold the container's mounts: %w", err)
	}
	w.Calls.Server.Limits.Container(pidsOf(c))
	if runs(c) {
		w.admission.noteLive(c)
	}
	w.Calls.Apply(strings.TrimPrefix(c.Name, "/"), dirs)
	return nil
}

// pidsOf is how many processes a container may have; 0 is any number.
func pidsOf(c container.InspectResponse) int64 {
	if c.ContainerJSONBase == nil || c.HostConfig == nil || c.HostConfig.PidsLimit == nil {
		return 0
	}
	return max(0, *c.HostConfig.PidsLimit)
}

// setProxyState sets up a session without a container: every call is made where it began. Callers say
// where they stand, which is a directory of a container that nobody here knows.
func (w *Watcher) setProxyState() error {
	mounts := Requested(w.Record.Session)
	dirs, err := dir.NewTable(mounts, dir.Default{Source: w.Record.InvokedIn, Target: w.Record.InvokedIn, All: true})
	if err != nil {
		return err
	}
	w.Calls.Apply("proxy", dirs)
	w.Warnings.Set(w.Calls.HostCode([]string{w.Record.InvokedIn}, "which a container may have been given"))
	return w.Record.Save()
}
