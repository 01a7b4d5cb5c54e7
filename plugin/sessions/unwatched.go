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

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// The process that started an agent's container removes it, or else the watcher does. If both were killed at once, the
// container is abandoned.

// AgentContainerName is the name of the container of session id's agent.
func AgentContainerName(id string) string { return "hostexec-agent-" + id }

// AbandonedAgent reports whether s is an agent's session that no process ends any more.
func AbandonedAgent(s Session, now time.Time) bool {
	return s.Watcher == nil && s.Agent != nil && !s.Agent.Keep && !s.OnHost() && created(s, now)
}

// created returns false for a session that is being created: its watcher serves only after the record is written.
func created(s Session, now time.Time) bool {
	return s.Container != "" || now.Sub(s.Created) > time.Minute
}

// PruneAgents removes the containers of abandoned agents, and sets the State of these sessions in all to StateGone. If
// an engine does not answer, its sessions stay.
func PruneAgents(ctx context.Context, dockerCLI command.Cli, store *state.Store, all []Session) error {
	var errs []error
	for i, s := range all {
		if s.State == StateUnknown || !AbandonedAgent(s, time.Now()) || Served(store, s.ID) {
			continue
		}
		if err := pruneAgent(ctx, dockerCLI, s); err != nil {
			errs = append(errs, fmt.Errorf("remove the container of agent %s: %w", s.ID, err))
			continue
		}
		all[i].State = StateGone
	}
	return errors.Join(errs...)
}

// Locked reports whether a process holds the session's lock. It is a watcher, also one that does not answer,
// or for a moment the process that answers the callers of a killed watcher.
func Locked(store *state.Store, id string) bool {
	return !state.LockFree(state.LockFile(store.Dir(id)))
}

// Served reports whether a session has a watcher. It waits for a process that answers the callers of a killed
// watcher.
func Served(store *state.Store, id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), LockTimeout)
	defer cancel()
	lock := state.ExistingLock(state.LockFile(store.Dir(id)))
	defer lock.Close()
	ok, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	return !ok && !errors.Is(err, fs.ErrNotExist)
}

// OpenStore opens the state directory, and ends the commands of sessions whose watcher and keeper were killed together.
// Errors while it ends commands are ignored: prune reports what cannot be ended.
func OpenStore() (*state.Store, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	watch.EndWithoutKeeper(store)
	return store, nil
}

func pruneAgent(ctx context.Context, dockerCLI command.Cli, s Session) error {
	api, err := cli.Connect(dockerCLI.ConfigFile(), s.GlobalArgs)
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	list, err := api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", inject.LabelSession+"="+s.ID)),
	})
	if err != nil {
		return err
	}
	for _, c := range list {
		// A container of an image that was committed from the session's has its label, but another ID and
		// name.
		if c.ID != s.Container && !slices.Contains(c.Names, "/"+AgentContainerName(s.ID)) {
			continue
		}
		if err := callcontainer.Remove(ctx, api, c.ID); err != nil {
			return err
		}
	}
	return nil
}

// LockTimeout is the maximum time for which the lock of a killed watcher's session is held to answer its
// callers.
const LockTimeout = 2 * time.Second

// removalTimeout is the time limit for an engine to remove one container.
const removalTimeout = 30 * time.Second

// Prunable reports whether only the directory of s is left. If s has no container, the directory of its jobs shows
// that it was served.
func Prunable(store *state.Store, s Session, now time.Time) bool {
	if s.State != StateGone || created(s, now) {
		return s.State == StateGone
	}
	_, err := os.Stat(state.JobsDir(store.Dir(s.ID)))
	return s.OnHost() && err == nil && !Served(store, s.ID)
}

// MinAge is the age after which no process is creating or removing a directory without a record.
const MinAge = time.Minute
