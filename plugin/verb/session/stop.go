// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/containerd/errdefs"
	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const stopLong = `End sessions: their host commands end, and further calls fail

The container keeps running unless --container is given. A stopped session can be resumed. An
agent ends with its session, and docker hostexec agent exits with the agent's code.

Processes get TERM, and KILL after --time. Without --time, containers and agents have 10
seconds, and host commands 5.

EXIT STATUS
  0  all have ended
  1  at least one was not found or did not end`

type stopOptions struct {
	container bool
	time      int
	timeSet   bool // whether --time was given
}

// NewStopCommand returns the verb stop.
func NewStopCommand(dockerCLI command.Cli) *cobra.Command {
	var opts stopOptions
	cmd := &cobra.Command{
		Use:               "stop [OPTIONS] SESSION|CONTAINER [SESSION|CONTAINER...]",
		Short:             "End sessions, and their containers if asked to",
		Long:              stopLong,
		Example:           "  docker hostexec stop --container web",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: sessions.Complete,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			opts.timeSet = cmd.Flags().Changed("time")
			if opts.time < 0 || opts.time > math.MaxInt32 { // a Duration holds no more than 292 years
				return fmt.Errorf("--time %d: must be 0 to %d seconds", opts.time, math.MaxInt32)
			}
			store, err := sessions.OpenStore()
			if err != nil {
				return err
			}
			return forEach(dockerCLI.Out(), args, func(ref string) error { return stop(cmd.Context(), dockerCLI, store, ref, opts) })
		}),
	}
	cmd.Flags().BoolVarP(&opts.container, "container", "c", false, "Stop the container too")
	cmd.Flags().IntVarP(&opts.time, "time", "t", 10, "`Seconds` between TERM and KILL; unset, host commands have 5")
	return cmd
}

// stop ends one session. It stops the container first, so that the container's processes can end their calls
// themselves.
func stop(ctx context.Context, dockerCLI command.Cli, store *state.Store, ref string, opts stopOptions) error {
	rec, err := sessions.Find(ctx, dockerCLI, store, ref)
	if err != nil {
		return cli.Hint(err, "docker hostexec status")
	}
	if opts.container && rec.Container != "" && rec.Agent == nil { // the watcher ends an agent's container anyway
		if err := stopContainer(ctx, dockerCLI, rec, opts.time); err != nil {
			return err
		}
	}
	grace := sessions.DefaultGrace
	if opts.timeSet {
		grace = time.Duration(opts.time) * time.Second
	}
	err = stopWatcher(ctx, store, rec.ID, grace)
	return errors.Join(err, watch.EndUnwatched(store.Dir(rec.ID)))
}

// stopWatcher ends the session's watcher, and notes that a user has stopped the session.
func stopWatcher(ctx context.Context, store *state.Store, id string, grace time.Duration) error {
	// Noted before the watcher ends, because resume --watch would start it again.
	if err := store.NoteStopped(id, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := sessions.StopWatcher(ctx, store.Dir(id), id, grace)
	if errors.As(err, new(sessions.UnstoppedError)) { // a watcher that ends after all notes it again
		err = errors.Join(err, store.NoteStopped(id, false))
	}
	return err
}

func stopContainer(ctx context.Context, dockerCLI command.Cli, rec state.Session, seconds int) error {
	api, err := cli.Connect(dockerCLI.ConfigFile(), rec.GlobalArgs)
	if err != nil {
		return err
	}
	defer api.Close()
	err = api.ContainerStop(ctx, rec.Container, container.StopOptions{Timeout: &seconds})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("stop container %s: %w", rec.ContainerName, err)
	}
	return nil
}
