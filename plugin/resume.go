// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const resumeLong = `Answer the calls of a container again whose session was stopped or lost

The container must run, and it gets the commands that its run named, no others.

EXIT STATUS
  0  calls are answered
  1  they are not; a line on stderr says why`

func newResumeCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "resume SESSION|CONTAINER",
		Short:             "Answer a running container's calls again",
		Long:              resumeLong,
		Example:           "  docker start web && docker hostexec resume web",
		Args:              cli.ExactArgs(1),
		ValidArgsFunction: completeSessions,
		RunE: verb(func(cmd *cobra.Command, args []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			s, err := lookAt(cmd.Context(), dockerCLI, store, args[0])
			if err != nil {
				return err
			}
			if err := resumable(s); err != nil {
				return err
			}
			if err := resume(cmd.Context(), dockerCLI, store, s); err != nil {
				return err
			}
			fmt.Fprintln(dockerCLI.Out(), s.ID)
			return nil
		}),
	}
}

// resumable says why a session cannot be resumed, and what to do instead.
func resumable(s session) error {
	switch s.State {
	case stateLost:
		return nil
	case stateRunning, stateWaiting, stateKeeping:
		return fmt.Errorf("session %s is served already", s.ID)
	case stateExited:
		return hint(fmt.Errorf("container %s does not run", s.ContainerName),
			fmt.Sprintf("docker start %s && docker hostexec resume %s", s.ContainerName, s.ContainerName))
	case stateGone:
		return hint(fmt.Errorf("the container of session %s was removed", s.ID), "docker hostexec prune")
	}
	return fmt.Errorf("the engine of session %s does not answer", s.ID)
}

func resume(ctx context.Context, dockerCLI command.Cli, store *state.Store, s session) error {
	link, err := watch.Start(store.Dir(s.ID), s.GlobalArgs)
	if err != nil {
		return err
	}
	if err = link.Recorded(); err == nil {
		err = link.Ready(ctx)
	}
	if err != nil {
		_ = link.Done() // it has nothing to add
		return err
	}
	if err := link.Bind(s.Container, s.Volume); err != nil {
		_ = link.Done() // as above
		return err
	}
	startPage(store, s.Session, config.Load(config.Source{Store: store.Home, Project: s.InvokedIn, Workspace: s.Workspace}))
	for _, w := range link.Warnings() {
		say(dockerCLI.Err(), "warning: %s", w)
	}
	return link.Done()
}
