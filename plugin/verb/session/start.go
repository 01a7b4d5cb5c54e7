// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const startLong = `Start stopped containers, and answer their calls again

Unlike docker start, this starts the session's watcher before the container, so that calls are
answered from the container's first instruction on. If a container runs already, only its
watcher is started.

EXIT STATUS
  0  all containers run, and their calls are answered
  1  at least one does not run, or its calls are not answered; a line on stderr says why`

// NewStartCommand returns the verb start.
func NewStartCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "start SESSION|CONTAINER [SESSION|CONTAINER...]",
		Short:             "Start stopped containers, and answer their calls again",
		Long:              startLong,
		Example:           "  docker hostexec start web\n  docker hostexec start web && docker attach web",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: sessions.Complete,
		RunE: cli.Verb(cli.With(sessions.OpenStore, func(cmd *cobra.Command, store *state.Store, args []string) error {
			return forEach(dockerCLI.Out(), args, func(ref string) error { return start(cmd.Context(), dockerCLI, store, ref) })
		})),
	}
}

// forEach calls do for each of refs, and prints those for which it succeeds.
func forEach(out io.Writer, refs []string, do func(ref string) error) error {
	var errs []error
	for _, ref := range refs {
		if err := do(ref); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintln(out, ref)
	}
	return errors.Join(errs...)
}

func start(ctx context.Context, dockerCLI command.Cli, store *state.Store, ref string) error {
	s, err := sessions.Inspect(ctx, dockerCLI, store, ref)
	if err != nil {
		return err
	}
	switch s.State {
	case sessions.StateRunning:
		return nil
	case sessions.StateWaiting, sessions.StateKeeping:
		return startContainer(ctx, dockerCLI, s)
	case sessions.StateExited, sessions.StateKilled:
		err = startSession(ctx, dockerCLI, store, s)
	default:
		if err = resumable(s); err == nil {
			err = resume(ctx, dockerCLI, store, s)
		}
	}
	if err != nil {
		return err
	}
	return store.NoteStopped(s.ID, false)
}

// startSession starts the watcher of a session, and then its container.
func startSession(ctx context.Context, dockerCLI command.Cli, store *state.Store, s sessions.Session) error {
	if s.DevContainer != nil {
		return cli.Hint(fmt.Errorf("container %s is a dev container", s.ContainerName), "start it with its tool; if its session is lost then: docker hostexec resume "+s.ID)
	}
	conn, err := startWatcher(ctx, dockerCLI, store, s)
	if err != nil {
		return err
	}
	// If the container does not start, the watcher ends by itself.
	return errors.Join(startContainer(ctx, dockerCLI, s), conn.Done())
}

func startContainer(ctx context.Context, dockerCLI command.Cli, s sessions.Session) error {
	api, err := cli.Connect(dockerCLI.ConfigFile(), s.GlobalArgs)
	if err != nil {
		return err
	}
	defer api.Close()
	if err := api.ContainerStart(ctx, s.Container, container.StartOptions{}); err != nil {
		return fmt.Errorf("start container %s: %w", s.ContainerName, err)
	}
	return nil
}
