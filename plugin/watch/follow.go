// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// follow stays with the session's container, from before it starts, until it is over. It
// returns why: errGone when nothing of the session need stay.
func (w *Watcher) follow(ctx context.Context, link *watcherLink) (err error) {
	link.ready()
	if w.rec.OnHost() {
		return w.followProcess(ctx, link)
	}
	// ends with its request, or with ctx.
	w.wg.Go(func() { w.connectEngine(ctx) })
	id, made, err := w.readContainer(ctx, link)
	if err != nil {
		return err
	}
	api, err := w.Engine()
	if err != nil {
		link.fail(err)
		return err
	}
	defer func() {
		if errors.Is(err, errGone) && w.rec.Volume != "" {
			w.sweepVolumes(api)
		}
	}()
	began, exit, err := w.setUp(ctx, api, id, made, link)
	if err != nil {
		return err
	}
	// end with run, or with ctx.
	w.wg.Go(func() { w.noteRun(ctx, api, id, link) })
	if w.agent != nil {
		w.wg.Go(func() { w.stopAgent(ctx, api, id, link) })
	}
	w.wg.Go(func() { w.settleTransport(ctx, api, id) })
	w.wg.Go(func() { w.keepName(ctx, api, id) })
	if w.files {
		w.wg.Go(func() { w.limitRequestDirs(ctx, api, id) })
	}
	looked := w.lookAtStart(ctx, api, id)
	for {
		err := w.wait(ctx, api, id, began, exit)
		looked()
		if err != nil {
			return err
		}
		w.containerKnown.shut() // until it is known what it mounts when it runs again
		w.down.Store(true)
		if began, exit, err = w.again(ctx, api, id); err != nil {
			return err
		}
		w.noteName(ctx, api, id) // it may have been renamed since the look of above
		w.down.Store(false)
		w.containerKnown.open()
		if !pause(ctx, looking) { // an engine that says both "runs" and "does not" is not asked in a circle
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

// readContainer waits to be told which container the session is for, and what the engine has said of it, if run has
// asked. When run ends without saying, what it may have left behind is removed.
func (w *Watcher) readContainer(ctx context.Context, link *watcherLink) (id string, made []byte, err error) {
	for {
		var line string
		select {
		case line = <-link.lines:
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "http":
			if address, err := w.openHTTP(rest); err != nil {
				link.fail(err)
			} else {
				link.listening(address)
			}
		case "inspected":
			made = []byte(rest)
		case "container":
			id, volume, _ := strings.Cut(rest, " ")
			w.settleShare(volume)
			return id, made, nil
		default:
			w.sweepUnnamed(ctx, line == "abort")
			return "", nil, errGone
		}
	}
}

// sweepUnnamed removes the containers of a run that ended without naming one; aborted: it had the time to remove its own.
func (w *Watcher) sweepUnnamed(ctx context.Context, aborted bool) {
	patience := inFlight
	if aborted {
		patience = 2 * looking
	}
	if api, err := w.Engine(); err == nil {
		w.sweep(ctx, api, patience)
	}
}

// settleShare takes note that the container has a volume in place of the share: then the
// engine sees nothing of this host.
func (w *Watcher) settleShare(volume string) {
	if volume == "" {
		return
	}
	w.rec.Volume, w.rec.RemoteFiles = volume, true
	if w.relay != nil {
		w.relay.Nonce = "" // there is none in it
	}
}

// setUp looks at the container that was created, sets the session up for it, and lets it
// start. The returned wait ends with the container's first run, of which it is said when it
// began, if it has. made is what the engine has said of the container, or nil.
func (w *Watcher) setUp(ctx context.Context, api Engine, id string, made []byte, link *watcherLink) (began string, exit *exitWait, err error) {
	c, registered, err := w.firstLook(ctx, api, id, made)
	if err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(errdefs.IsNotFound(err), err)
	}
	fresh := c.State.Status == container.StateCreated
	found := w.warnings(c)
	list := append(slices.Clone(found), w.adapt(c)...)
	if err := w.preflight(c); err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(fresh, err)
	}
	if c.State.Running { // resumed
		w.removeLeftContainers(ctx)
	}
	if err := w.setState(c); err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(fresh, err)
	}
	w.rec.Container, w.rec.ContainerName, w.rec.Image = id, strings.TrimPrefix(c.Name, "/"), c.Config.Image
	w.rec.Writable = w.dirs.Sources()
	w.warn(c, found)
	if err := w.save(); err != nil {
		link.fail(err)
		return "", nil, w.setUpFailed(fresh, err)
	}
	list = append(list, w.supplied(w.dirs)...)
	if w.unreachable != "" {
		list = append(list, w.unreachable)
	}
	if !w.rec.RemoteFiles && !runs(c) {
		w.containerKnown.shut() // until it is known what the engine has mounted
	}
	if exit = registered(); !fresh && !runs(c) {
		exit.drop()
		exit = nil // it is over already: the wait finds that
	}
	link.bound(list, where(w.dirs))
	return c.State.StartedAt, exit, nil
}

// firstLook looks at container id, and asks to be told when it exits. registered returns when the engine has taken note.
func (w *Watcher) firstLook(ctx context.Context, api Engine, id string, made []byte) (c container.InspectResponse, registered func() *exitWait, err error) {
	if made == nil {
		exit := register(ctx, api, id)
		c, err = inspect(ctx, api, id)
		return c, func() *exitWait { return exit }, err
	}
	// The container does not run yet. The engine answers when run has copied something into it, which takes a while.
	done := make(chan *exitWait, 1)
	// ends with its request, or with ctx.
	w.wg.Go(func() { done <- register(ctx, api, id) })
	if err = json.Unmarshal(made, &c); err == nil {
		err = showHostFiles(ctx, api, &c)
	}
	return c, func() *exitWait { return <-done }, err
}

// setUpFailed is the end of a session that could not be set up. Its folder goes with a
// container that run is about to remove; one that has run, and is only resumed, needs it
// to be started again.
func (w *Watcher) setUpFailed(fresh bool, err error) error {
	if fresh {
		return errors.Join(errGone, err)
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
			w.overBut(w.leftOf(ctx, api, id), link)
		case w.rec.Agent != nil:
			w.overBut(w.abandoned(ctx, api, id), link)
		default:
			if err := w.removeUnstarted(ctx, api, id); err != nil {
				w.stop(err)
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
	w.down.Store(true)
	if err := w.settle(ctx, api, id); err != nil {
		w.stop(err)
		return
	}
	w.down.Store(false)
}

// again returns when the container runs again and the session is set up for it, with when
// that run began and a wait for its end; or with why there is no session any more.
func (w *Watcher) again(ctx context.Context, api Engine, id string) (began string, exit *exitWait, err error) {
	for {
		if err := w.settle(ctx, api, id); err != nil {
			if err = w.waitKeptJobs(ctx, api, id, err); err != nil {
				return "", nil, err
			}
		}
		exit = register(ctx, api, id)
		if began, err = w.setUpAgain(ctx, api, id); began != "" || err != nil {
			return began, exit, err
		}
		exit.drop()
		if !pause(ctx, looking) {
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
		pause(ctx, absent)
		return "", nil
	case !runs(c):
		return "", nil
	}
	if err := w.preflight(c); err != nil {
		return "", err
	}
	if err := w.setState(c); err != nil {
		return c.State.StartedAt, err
	}
	w.rewarn(c, w.warnings(c))
	return c.State.StartedAt, nil
}

func (w *Watcher) setState(c container.InspectResponse) error {
	if c.Config != nil && c.Config.WorkingDir != "" {
		w.containerDir.Store(&c.Config.WorkingDir)
	}
	dirs, err := table(c, defaultDir(w.rec, w.workdir()), !w.rec.RemoteFiles, w.beyond)
	if err != nil {
		return fmt.Errorf("hold the container's mounts: %w", err)
	}
	w.server.Limits.Container(pidsOf(c))
	if runs(c) {
		w.noteLive(c)
	}
	w.applyState(strings.TrimPrefix(c.Name, "/"), dirs)
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
	mounts := Requested(w.rec)
	dirs, err := mount.NewTable(mounts, mount.Default{Source: w.rec.InvokedIn, Target: w.rec.InvokedIn, All: true})
	if err != nil {
		return err
	}
	w.applyState("proxy", dirs)
	w.warnOf(w.hostCode([]string{w.rec.InvokedIn}, "which a container may have been given"))
	return w.save()
}

// applyState has later calls depend on dirs, and on the configuration of now.
func (w *Watcher) applyState(name string, dirs *mount.Table) {
	w.stateMu.Lock()
	defer w.stateMu.Unlock()
	env, found := executor.Environ(w.environ(), dirs)
	for _, f := range found {
		w.log.Warn("environment of commands", "finding", f.String())
	}
	path, left := executor.Path(osenv.Get(w.environ(), "PATH"), dirs)
	if len(left) > 0 {
		_ = os.Setenv("PATH", path) // by which the engine's client finds ssh, again and again; it is a valid name
	}
	w.server.SetState(&call.SessionState{
		Session:   w.rec.ID,
		Project:   filepath.Base(w.rec.InvokedIn),
		Branch:    branch(w.rec.InvokedIn),
		Container: name,
		Agent:     w.rec.AgentName(),
		Policy:    w.configure(w.load()),
		Audit:     w.audit.Named(name),
		Dirs:      dirs,
		Home:      w.workdir(),
		PassEnv:   w.rec.PassEnv,
		NewPrivs:  w.rec.NewPrivs,
		Environ:   env,
		Find:      func(name string) (string, bool) { return osenv.LookPath(name, path) },
		Scratch:   filepath.Join(w.Dir, "scratch"),

		Recordings: w.store.Recordings(),
		Elsewhere:  w.elsewhere(dirs),
		Confined:   w.confined(dirs, env),
		Inside:     w.insideOf,
	})
	old := w.dirs
	w.dirs = dirs
	if old != nil {
		old.Close()
	}
}
