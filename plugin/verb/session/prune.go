// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/gitpush"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const pruneLong = `Remove what ended sessions have left behind

prune removes
  - the files of sessions whose containers were removed
  - containers of agents, and of single commands (where=container), without a watcher
  - volumes with shims, unless a container uses them
  - locks of proxies that have ended
  - sockets and docker contexts of docker hostexec with, if it was killed
  - unpacked programs of other versions, and lists of which files images have
  - copies of git remotes (git-push) that were not used for 30 days; the next use makes them again

First, without a question, it ends commands that still run because the watcher and the keeper of
their session were killed at once. It keeps the audit log, and containers of agents with auto_remove: false.

EXIT STATUS
  0  nothing failed; engines that do not answer are skipped
  1  something could not be removed`

// NewPruneCommand returns the verb prune. Each function of leftovers removes the leftovers of another verb.
func NewPruneCommand(dockerCLI command.Cli, leftovers ...func(*state.Store) error) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:               "prune [OPTIONS]",
		Short:             "Remove sessions whose containers are gone",
		Long:              pruneLong,
		Example:           "  docker hostexec prune -f",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(cmd *cobra.Command, _ []string) error {
			return runPrune(cmd.Context(), dockerCLI, force, leftovers)
		}),
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "Do not ask")
	return cmd
}

func runPrune(ctx context.Context, dockerCLI command.Cli, force bool, leftovers []func(*state.Store) error) error {
	store, err := state.Open()
	if err != nil {
		return err
	}
	unwatched := watch.EndAllUnwatched(store) // whatever the answer is: status does it, too, and does not ask
	if !force {
		yes, err := cli.Confirm(ctx, dockerCLI,
			"This will remove all sessions whose containers are gone.\nAre you sure you want to continue?")
		if err != nil || !yes {
			return errors.Join(unwatched, err)
		}
	}
	recs, err := store.List()
	if err != nil {
		return err
	}
	rebuilt, answered := sessions.Rebuilt(ctx, dockerCLI, store, recs)
	recs = append(recs, rebuilt...)
	all := sessions.States(ctx, dockerCLI, store, recs)
	errs := []error{unwatched, inject.Prune(store.Home), sessions.PruneAgents(ctx, dockerCLI, store, all), pruneEngines(ctx, dockerCLI, store, all), store.ProxyLocks().Prune()}
	if answered { // otherwise an unknown container may mount such a directory
		errs = append(errs, pruneRecordless(store, recs, removalsOf(dockerCLI)))
	}
	var gone []string
	for _, s := range all {
		if sessions.Prunable(store, s, time.Now()) {
			gone = append(gone, s.ID)
		}
	}
	errs = append(errs, removalsOf(dockerCLI).remove(store, gone))
	errs = append(errs, pruneMirrors(store, dockerCLI.Out()))
	for _, f := range leftovers {
		errs = append(errs, f(store))
	}
	return errors.Join(errs...)
}

// pruneMirrors removes copies of git remotes that are not used any more, and prints their paths.
func pruneMirrors(store *state.Store, out io.Writer) error {
	removed, err := gitpush.Prune(store.GitMirrorsDir(), time.Now().Add(-gitpush.MaxUnused))
	for _, path := range removed {
		fmt.Fprintln(out, names.Escaped(path))
	}
	return err
}

// pruneRecordless removes directories without a record, which are left if a process is killed while it creates or
// removes a session. It keeps the directories of recs. A process that starts the session of a dev container uses its ID
// again, and holds the lock meanwhile.
func pruneRecordless(store *state.Store, recs []state.Session, r removals) error {
	lock := state.NewLock(store.DevContainersLock())
	if ok, err := lock.TryLock(); err != nil || !ok {
		return err // a dev container's session is starting: the next prune removes the directories
	}
	defer lock.Close()
	ids := slices.DeleteFunc(store.Recordless(sessions.MinAge), func(id string) bool {
		return sessions.Contains(recs, id) // its container mounts the directory
	})
	return r.remove(store, ids)
}

// pruneEngines removes call containers and volumes of sessions that have no watcher. It asks docker's current engine,
// and the engines of all sessions and of their commands.
func pruneEngines(ctx context.Context, dockerCLI command.Cli, store *state.Store, all []sessions.Session) error {
	watched := map[string]bool{}
	engines := map[string][]string{"": cli.GlobalArgs(dockerCLI)}
	for _, s := range all {
		watched[s.ID] = s.Watcher != nil || s.Unanswered() != nil
		engines[strings.Join(s.GlobalArgs, "\x00")] = s.GlobalArgs
	}
	dead := func(id string) bool {
		serves, known := watched[id]
		if known {
			return !serves
		}
		_, err := os.Stat(store.Dir(id)) // the session may be newer than the list of sessions
		return errors.Is(err, fs.ErrNotExist)
	}
	hosts, err := store.CallEngines()
	errs := []error{err}
	for _, host := range hosts {
		engines["--host\x00"+host] = []string{"--host", host}
	}
	for _, args := range engines {
		api, err := cli.Connect(dockerCLI.ConfigFile(), args)
		if err != nil {
			continue // the states of its sessions are unknown, so they stay
		}
		errs = append(errs, pruneEngine(ctx, api, store, dead))
		api.Close()
	}
	return errors.Join(errs...)
}

// pruneEngine removes leftover objects of an engine, if the engine answers.
func pruneEngine(ctx context.Context, api client.APIClient, store *state.Store, dead func(string) bool) error {
	pingCtx, cancel := context.WithTimeout(ctx, sessions.EngineTimeout)
	defer cancel()
	if _, err := api.Ping(pingCtx); err != nil {
		return nil // the states of its sessions are unknown, so they stay
	}
	return errors.Join(callcontainer.Prune(ctx, api, store.Home, dead), launch.RemoveDeadVolumes(ctx, api, dead))
}
