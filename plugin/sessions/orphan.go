// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// An agent's container is removed by who started it, or else by the watcher. Where all of
// them were killed at once it is an orphan.

// AgentName is the name of the container of session id's agent.
func AgentName(id string) string { return "hostexec-agent-" + id }

// Orphaned reports whether s is of an agent whose container nobody is there to remove.
func Orphaned(s Session, now time.Time) bool {
	return s.Watcher == nil && s.Agent != nil && !s.Agent.Keep && !s.OnHost() && settled(s, now)
}

// settled spares a session that is just being made: its watcher starts after its record.
func settled(s Session, now time.Time) bool {
	return s.Container != "" || now.Sub(s.Created) > time.Minute
}

// SweepAgents removes the containers of those sessions that are orphaned, and says in the
// others' place that they are gone. On an engine that does not answer they stay.
func SweepAgents(ctx context.Context, dockerCLI command.Cli, store *state.Store, all []Session) error {
	var errs []error
	for i, s := range all {
		if s.State == StateUnknown || !Orphaned(s, time.Now()) || Served(store, s.ID) {
			continue
		}
		if err := sweepAgent(ctx, dockerCLI, s); err != nil {
			errs = append(errs, fmt.Errorf("remove the container of agent %s: %w", s.ID, err))
			continue
		}
		all[i].State = StateGone
	}
	return errors.Join(errs...)
}

// Locked reports whether a process holds the session's lock now: a watcher, even one that does not answer, or, for a
// moment, the process that answers the callers of a killed watcher.
func Locked(store *state.Store, id string) bool {
	lock := state.ExistingLock(state.LockFile(store.Dir(id)))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return lock.Close() != nil
}

// Served reports whether a session has a watcher. It waits for the process that answers the callers of a killed one.
func Served(store *state.Store, id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), AnswerTime)
	defer cancel()
	lock := state.ExistingLock(state.LockFile(store.Dir(id)))
	ok, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if err != nil || !ok {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return lock.Close() != nil
}

// SweepLost ends the commands of sessions whose watcher and keeper were killed together: nothing else
// ends them.
func SweepLost(store *state.Store) error {
	ids, err := store.IDs()
	errs := []error{err}
	for _, id := range ids {
		errs = append(errs, watch.EndLost(store.Dir(id)))
	}
	return errors.Join(errs...)
}

// OpenSwept opens the state directory, and ends the commands of sessions whose watcher and keeper were
// killed together: most people look before they prune.
func OpenSwept() (*state.Store, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	EndUnkept(store)
	return store, nil
}

// EndUnkept ends the commands of sessions whose watcher and keeper were killed together.
func EndUnkept(store *state.Store) {
	ids, _ := store.IDs() // who needs them lists them, too
	for _, id := range ids {
		_ = watch.EndUnkept(store.Dir(id)) // prune reports what cannot be ended
	}
}

func sweepAgent(ctx context.Context, dockerCLI command.Cli, s Session) error {
	api, err := cli.Connect(dockerCLI.ConfigFile(), s.GlobalArgs)
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, sweeping)
	defer cancel()
	list, err := api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", inject.LabelSession+"="+s.ID)),
	})
	if err != nil {
		return err
	}
	for _, c := range list {
		// An image that was made of it has its labels, but neither of these.
		if c.ID != s.Container && !slices.Contains(c.Names, "/"+AgentName(s.ID)) {
			continue
		}
		err := api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			return err
		}
	}
	return nil
}

// AnswerTime is how long the lock of a killed watcher's session may be held to answer its callers.
const AnswerTime = 2 * time.Second

// sweeping is how long an engine may take over one container.
const sweeping = 30 * time.Second

// Prunable reports whether nothing of s is left but its folder. A process without a container
// is known to have been served by the folder of its jobs.
func Prunable(store *state.Store, s Session, now time.Time) bool {
	if s.State != StateGone || settled(s, now) {
		return s.State == StateGone
	}
	_, err := os.Stat(state.JobsDir(store.Dir(s.ID)))
	return s.OnHost() && err == nil && !Served(store, s.ID)
}

// HalfMade is how old a folder without a record is that nobody is making or removing any more.
const HalfMade = time.Minute
