// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const resumeLong = `Answer a container's calls again after its session was stopped or lost

The container must run: docker hostexec start starts a stopped one. The container can then call
the same commands as before. Commands that the lost session has left running are ended first.

--all resumes all sessions that were lost, for example by a reboot. It resumes no agents, no
proxies, and no sessions that docker hostexec stop has ended. --watch repeats this until a
signal ends it. docker hostexec service install starts it at login.

EXIT STATUS
  0  calls are answered; with --watch: a signal has ended it
  1  calls are not answered; a line on stderr says why`

type resumeOptions struct{ all, watch bool }

// NewResumeCommand returns the verb resume.
func NewResumeCommand(dockerCLI command.Cli) *cobra.Command {
	var opts resumeOptions
	cmd := &cobra.Command{
		Use:               "resume SESSION|CONTAINER | resume --all [--watch]",
		Short:             "Answer a running container's calls again",
		Long:              resumeLong,
		Example:           "  docker hostexec resume web\n  docker hostexec resume --all",
		Args:              opts.args,
		ValidArgsFunction: cli.CompleteFirst(sessions.Complete),
		RunE: cli.VerbWithSignals(cli.With(sessions.OpenStore, func(cmd *cobra.Command, store *state.Store, args []string) error {
			switch {
			case opts.watch:
				return keepResuming(cmd.Context(), dockerCLI, store)
			case opts.all:
				return resumeAll(cmd.Context(), dockerCLI, store)
			}
			s, err := sessions.Inspect(cmd.Context(), dockerCLI, store, args[0])
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
			return store.NoteStopped(s.ID, false)
		})),
	}
	cmd.Flags().BoolVarP(&opts.all, "all", "a", false, "Resume all sessions that were lost")
	cmd.Flags().BoolVar(&opts.watch, "watch", false, "With --all: repeat until a signal")
	return cmd
}

func (o *resumeOptions) args(cmd *cobra.Command, args []string) error {
	switch {
	case o.all:
		return dockercli.NoArgs(cmd, args)
	case o.watch:
		return &cli.Failure{Code: cli.CodeVerb, Err: errors.New("--watch needs --all")}
	}
	return dockercli.ExactArgs(1)(cmd, args)
}

// resumable returns an error if a session cannot be resumed, with the next command to type.
func resumable(s sessions.Session) error {
	if s.Damaged && s.State != sessions.StateGone {
		return errDamaged(s)
	}
	switch s.State {
	case sessions.StateUnknown:
		if s.Unanswered() != nil {
			return cli.Hint(s.Unanswered(), "docker hostexec stop "+s.ID+", then resume")
		}
	case sessions.StateSuspended:
		return s.Unanswered()
	case sessions.StateLost, sessions.StateStopped:
		return nil
	case sessions.StateRunning, sessions.StateWaiting, sessions.StateKeeping:
		return fmt.Errorf("session %s is served already", s.ID)
	case sessions.StateExited, sessions.StateKilled:
		return cli.Hint(fmt.Errorf("container %s does not run", s.ContainerName),
			"docker hostexec start "+s.ContainerName)
	case sessions.StateGone:
		return cli.Hint(fmt.Errorf("the container of session %s was removed", s.ID), "docker hostexec prune")
	}
	return fmt.Errorf("the engine of session %s does not answer", s.ID)
}

// errDamaged returns the error for a session without a readable record.
func errDamaged(s sessions.Session) error {
	return cli.Hint(fmt.Errorf("the record of session %s is damaged: the commands of its container are not known", s.ID),
		"docker rm -f "+s.ContainerName+", then docker hostexec run again")
}

func resume(ctx context.Context, dockerCLI command.Cli, store *state.Store, s sessions.Session) error {
	conn, err := startWatcher(ctx, dockerCLI, store, s)
	if err != nil {
		return err
	}
	return conn.Done()
}

// startWatcher starts another watcher for a session and its container. The caller calls Done after the container
// has started.
func startWatcher(ctx context.Context, dockerCLI command.Cli, store *state.Store, s sessions.Session) (*watch.Conn, error) {
	if s.Damaged {
		return nil, errDamaged(s)
	}
	conn, err := launch.Resume(ctx, store, s.Session)
	if err != nil {
		return nil, err
	}
	for _, w := range conn.Warnings() {
		cli.Say(dockerCLI.Err(), "warning: %s", w)
	}
	return conn, nil
}
