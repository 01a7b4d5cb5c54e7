// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A service's containers are made by compose, whenever it likes, and nobody says which: they
// are looked for while none runs and one may come. Calls wait at the gate meanwhile, so
// that each is answered as one of the container that it came from.

const (
	// providerTimeout is how long a container may take to come that a provider was told of.
	providerTimeout = 10 * time.Minute
	// numbered is compose's label with the number of one of several containers.
	numbered = "com.docker.compose.container-number"
)

// followService stays with the service's containers until there are none and none is
// expected. It returns why: errGone when nothing of the session need stay.
func (w *Watcher) followService(ctx context.Context, link *watcherLink) error {
	link.ready()
	api, err := w.Engine()
	if err != nil {
		link.fail(err)
		return err
	}
	if w.rec.Container != "" { // resumed
		w.removeLeftContainers(ctx)
	}
	for {
		c, err := w.nextOf(ctx, api)
		if err != nil {
			return err
		}
		if err := w.admit(ctx, api, c, link); err != nil {
			link.fail(err)
			return err
		}
		if err := w.followRun(ctx, api, c.ID, c.State.StartedAt); err != nil {
			return err
		}
		if !pause(ctx, looking/4) { // as in follow
			return context.Cause(ctx)
		}
	}
}

// nextOf waits for a container of the service's that runs. The error says that there will
// be none.
func (w *Watcher) nextOf(ctx context.Context, api Engine) (c container.InspectResponse, err error) {
	w.down.Store(true)
	said := ""
	for over := time.Now().Add(restartDelay); ; {
		c, stopped, err := w.look(ctx, api)
		switch {
		case err != nil: // the engine is away: what it does with the containers comes after
			over = time.Now().Add(restartDelay)
			if text := err.Error(); text != said && !errors.Is(err, errRestarting) {
				said = text
				w.log.Warn("look for containers", "error", err)
			}
		case c.ContainerJSONBase != nil:
			return c, nil
		case !stopped || time.Now().After(over):
			why := errGone
			if stopped {
				why = errOver
			}
			if why = w.waitKeptJobs(ctx, api, w.rec.Container, why); why != nil && w.ends() {
				return c, why
			}
		}
		if !pause(ctx, looking/2) {
			return c, context.Cause(ctx)
		}
	}
}

// look finds a container of the service's that runs, of several the first. stopped: there is
// none, but others that may be started.
func (w *Watcher) look(ctx context.Context, api Engine) (found container.InspectResponse, stopped bool, err error) {
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: w.serviceFilter()})
	if err != nil {
		return found, false, err
	}
	slices.SortFunc(list, func(a, b container.Summary) int {
		return cmp.Or(cmp.Compare(a.Labels[state.LabelOneoff], b.Labels[state.LabelOneoff]), number(a)-number(b), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range list {
		c, ierr := inspect(ctx, api, s.ID)
		if errdefs.IsNotFound(ierr) {
			continue // gone again
		}
		if ierr != nil {
			return found, false, fmt.Errorf("look at container %.12s: %w", s.ID, ierr)
		}
		if !w.has(c) {
			continue // made without us
		}
		if runs(c) {
			return c, false, nil
		}
		stopped = true
		if c.State.Restarting {
			err = errRestarting
		}
	}
	return found, stopped, err
}

// serviceFilter are the filters that the service's containers pass.
func (w *Watcher) serviceFilter() filters.Args {
	s := w.rec.Service
	switch {
	case s.Oneoff:
		return filters.NewArgs(filters.Arg("label", state.Label+"="+w.rec.ID))
	case s.Project == state.Devcontainers:
		return filters.NewArgs(filters.Arg("label", state.LabelDevcontainer+"="+s.Name))
	}
	own := filters.NewArgs(filters.Arg("label", state.LabelProject+"="+s.Project), filters.Arg("label", state.LabelService+"="+s.Name))
	if !s.Provided { // then the share is mounted by the project's own file, into those of compose run, too
		own.Add("label", state.LabelOneoff+"=False")
	}
	return own
}

func number(s container.Summary) int {
	n, _ := strconv.Atoi(s.Labels[numbered])
	return n
}

// has reports whether a container has the session's share. Labels say nothing: an image
// may have them.
func (w *Watcher) has(c container.InspectResponse) bool {
	share := state.ShareDir(w.Dir)
	return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool {
		return path.Clean(m.Destination) == state.Target && resolved(m.Source) == share
	})
}

// admit sets the session up for a container, and lets its calls in.
func (w *Watcher) admit(ctx context.Context, api Engine, c container.InspectResponse, link *watcherLink) error {
	if old := w.rec.Container; old != c.ID {
		w.rec.Container, w.rec.ContainerName, w.rec.Image = c.ID, strings.TrimPrefix(c.Name, "/"), c.Config.Image
		if err := w.save(); err != nil {
			return err
		}
		if old != "" && !w.beside(c) {
			w.replace(ctx)
		}
	}
	found := w.warnings(c)
	list := append(slices.Clone(found), w.adapt(c)...)
	if err := w.admissible(c); err != nil {
		return err
	}
	if _, err := w.seeAll(ctx, api); err != nil {
		return err
	}
	if err := w.setState(c); err != nil {
		return err
	}
	w.rewarn(c, found)
	w.came()
	link.bound(append(list, w.supplied(w.dirs)...), where(w.dirs))
	w.down.Store(false)
	w.containerKnown.open()
	return nil
}

// beside reports whether a container ran while the one before it did, as one of several.
func (w *Watcher) beside(c container.InspectResponse) bool {
	started, err := time.Parse(time.RFC3339Nano, c.State.StartedAt)
	return err == nil && started.Before(w.left)
}

// replace ends what is left of a container that another one has taken the place of.
func (w *Watcher) replace(life context.Context) {
	old := w.term.Load()
	w.begin(life)
	old.end(errGone)
	for _, sh := range w.server.Shells.List() {
		w.server.Shells.Remove(sh.Name)
	}
}

// followRun stays with a container until the run of it that began at that time is over. Then
// calls wait again.
func (w *Watcher) followRun(ctx context.Context, api Engine, id, began string) error {
	here, leave := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	// end with the container's run.
	wg.Go(func() { w.settleTransport(here, api, id) })
	wg.Go(func() { w.keepName(here, api, id) })
	if w.files {
		wg.Go(func() { w.limitRequestDirs(here, api, id) })
	}
	wg.Go(func() {
		if err := w.watchOthers(here, ctx, api); err != nil {
			w.containerKnown.shut()
			leave(err)
		}
	})
	err := w.wait(here, api, id, began, nil)
	w.containerKnown.shut()
	w.left = time.Now()
	leave(nil)
	wg.Wait()
	return err
}

// ends reports whether no container is to come: then none can be promised any more.
func (w *Watcher) ends() bool {
	lease := flock.New(state.LeaseFile(w.Dir))
	if ok, err := lease.TryLock(); err != nil || !ok {
		return err != nil // nobody can have one that cannot be looked at
	}
	if fi, err := os.Stat(lease.Path()); err == nil && time.Since(fi.ModTime()) < providerTimeout {
		lease.Close()
		return false
	}
	w.lease = lease
	return true
}

// came notes that the container which was promised has come.
func (w *Watcher) came() {
	if err := os.Chtimes(state.LeaseFile(w.Dir), time.Time{}, time.Unix(0, 0)); err != nil {
		w.log.Warn("note that the container has come", "error", err)
	}
}
