// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// Start implements Sessions. If the container has a session, Start ensures that a watcher serves it before the
// container starts. It does so unless a person has ended the session, or its watcher does not answer. It leaves
// sessions of dev containers alone. Start checks the mounts again, because the targets of their paths may have changed.
func (l *SessionLauncher) Start(ctx context.Context, ref string) error {
	recs, err := l.store.List()
	if err != nil {
		return err
	}
	api := l.cli.Client()
	c, err := api.ContainerInspect(ctx, ref)
	if err != nil {
		return nil // the engine's own message is better
	}
	i := slices.IndexFunc(recs, func(rec state.Session) bool { return rec.Container == c.ID })
	if i < 0 {
		return l.refuseState(ctx, c.ID, c.Config.Labels)
	}
	if recs[i].DevContainer != nil {
		return nil
	}
	rec := recs[i]
	st, err := sessions.AskWatcher(ctx, l.store, rec.ID)
	switch {
	case err != nil:
		l.note("warning: container %s: %v", rec.ContainerName, err)
		return nil // the container's calls wait, or fail, as after a plain docker start
	case st == nil && l.store.Stopped(rec.ID):
		return nil
	}
	if err := watchcontainer.Preflight(ctx, api, l.store, rec, c); err != nil {
		return l.refuseStart(api, rec, c, err)
	}
	if st == nil {
		return l.resumeOnce(ctx, rec)
	}
	if st.State == control.StateWaiting && c.State.Status != container.StateCreated {
		l.resumeAfterStart(context.WithoutCancel(ctx), api, rec)
	}
	return nil
}

// resumeOnce starts a watcher for a session that had none, unless a concurrent request has done so.
func (l *SessionLauncher) resumeOnce(ctx context.Context, rec state.Session) error {
	l.resuming.Lock()
	defer l.resuming.Unlock()
	if st, err := sessions.AskWatcher(ctx, l.store, rec.ID); err != nil || st != nil {
		return err
	}
	return l.resume(ctx, rec)
}

// resume starts a watcher for a session that has none.
func (l *SessionLauncher) resume(ctx context.Context, rec state.Session) error {
	conn, err := launch.Resume(context.WithoutCancel(ctx), l.store, rec)
	if err != nil {
		return err
	}
	for _, w := range conn.Warnings() {
		l.note("warning: %s", w)
	}
	return conn.Done()
}

// refuseStart returns the error for a container that must not start. It removes a container that has never run, as run
// does. It keeps other containers, because they may have files that a person needs.
func (l *SessionLauncher) refuseStart(api client.APIClient, rec state.Session, c container.InspectResponse, err error) error {
	err = fmt.Errorf("container %s: %w", rec.ContainerName, err)
	if c.State.Status != container.StateCreated {
		return cli.Hint(err, "the container is kept, but not started: restore the target of its mount, or create it again with other mounts (docker cp copies its files)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout) // the client may have left
	defer cancel()
	if rerr := callcontainer.Remove(ctx, api, c.ID); rerr != nil {
		return errors.Join(err, rerr)
	}
	if _, served := l.store.Served(rec.ID); served { // the watcher removes it
		return err
	}
	return errors.Join(err, l.store.Remove(rec.ID))
}

const (
	// removeTimeout is the time limit for the removal of a container.
	removeTimeout = 10 * time.Second
	// startTimeout is the time limit for the start of a container whose watcher may be ending.
	startTimeout = 5 * time.Second
)

// resumeAfterStart resumes the session of a container whose watcher has ended while the engine started the container. A
// watcher waits only some seconds for a stopped container.
func (l *SessionLauncher) resumeAfterStart(ctx context.Context, api client.APIClient, rec state.Session) {
	// ends when the container runs and is served, or after startTimeout; Close waits for it.
	l.afterStart.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		for watch.Pause(ctx, watch.Poll) {
			st, err := sessions.AskWatcher(ctx, l.store, rec.ID)
			if err != nil || st != nil && st.State == control.StateRunning {
				return
			}
			c, err := api.ContainerInspect(ctx, rec.Container)
			if errdefs.IsNotFound(err) {
				return
			}
			if st == nil && err == nil && c.State.Running {
				if err := l.resume(ctx, rec); err != nil {
					l.note("warning: container %s: %v", rec.ContainerName, err)
				}
				return
			}
		}
	})
}
