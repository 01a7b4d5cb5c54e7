// SPDX-License-Identifier: Apache-2.0

// Package session has the verbs for sessions: status, inspect, start, stop, resume and prune, and the hidden
// verb watcher, which serves one session.
package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
)

const statusLong = `List sessions: containers and agents that can call commands of this host, and proxies, which
have a directory in place of a container

STATE is one of
  running    the container runs, and its calls are answered
  waiting    the container does not exist yet, is not started yet, or has just stopped
  keeping    the container or agent has ended, and kept jobs continue: docker hostexec ps
  lost       the container runs, but its watcher has died: docker hostexec resume
  stopped    the container runs, but docker hostexec stop has ended the session
  suspended  a signal has suspended the watcher: kill -CONT its PID
  killed     hostexec has killed the container, because it had a mount of a file that decides
             what runs on this host: docker hostexec inspect says which
  exited     the container has stopped (with --all)
  gone       the container was removed (with --all): docker hostexec prune
  unknown    the watcher does not answer; or there is none, and the engine does not answer

WARNINGS is the number of reasons why the session is dangerous. Examples are a privileged
container, or commands that run code which the container can write. docker hostexec inspect
shows the reasons.

The table has the columns that fit the terminal. --format can show others, such as Running,
Shells and Version.

EXIT STATUS
  0  the sessions were listed
  1  they could not be listed, or a watcher does not answer`

const statusExample = `  docker hostexec status
  docker hostexec status --filter state=lost --format '{{.ID}} {{.Container}}'`

type statusOptions struct {
	all, quiet, noTrunc bool
	format              string
	filters             []string
	width               int // of the terminal; 0 if there is none
}

// NewStatusCommand returns the verb status.
func NewStatusCommand(dockerCLI command.Cli) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:               "status [OPTIONS]",
		Aliases:           []string{"ls"},
		Short:             "List sessions",
		Long:              statusLong,
		Example:           statusExample,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(cmd *cobra.Command, _ []string) error {
			return runStatus(cmd.Context(), dockerCLI, opts)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.all, "all", "a", false, "Show all sessions, those of stopped and removed containers too")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "Only show session IDs")
	flags.BoolVar(&opts.noTrunc, "no-trunc", false, "Do not truncate output")
	cli.FormatFlag(cmd, &opts.format, cli.FieldsOf(statusRow{}))
	cli.FilterFlag(cmd, &opts.filters, "f", "sessions", sessionCriteria, sessions.FilterValues)
	return cmd
}

func runStatus(ctx context.Context, dockerCLI command.Cli, opts statusOptions) error {
	keep, err := cli.ParseFilters(opts.filters, sessionCriteria)
	if err != nil {
		return err
	}
	store, err := sessions.OpenStore()
	if err != nil {
		return err
	}
	recs, err := sessions.All(ctx, dockerCLI, store)
	if err != nil {
		return err
	}
	var shown []sessions.Session
	var errs []error
	for _, s := range sessions.States(ctx, dockerCLI, store, recs) {
		errs = append(errs, s.Unanswered())
		live := s.State != sessions.StateExited && s.State != sessions.StateGone
		if (live || opts.all || keep.Has("state")) && keep.Match(s) {
			shown = append(shown, s)
		}
	}
	_, width := dockerCLI.Out().GetTtySize()
	opts.width = int(width)
	return errors.Join(append(errs, writeStatus(names.ASCIIWriter(dockerCLI.Out()), shown, opts, time.Now()))...)
}

// sessionCriteria are the keys of --filter for sessions.
var sessionCriteria = []cli.Criterion[sessions.Session]{
	{Key: "id", Is: cli.Begins(func(s sessions.Session) string { return s.ID })},
	{Key: "container", Is: func(s sessions.Session, v string) bool {
		return s.ContainerName == v || v != "" && strings.HasPrefix(s.Container, v)
	}},
	{Key: "image", Is: cli.Equals(func(s sessions.Session) string { return s.Image })},
	{Key: "command", Is: func(s sessions.Session, v string) bool { return slices.Contains(s.Names(), v) }},
	{Key: "state", Is: cli.EqualsFold(func(s sessions.Session) string { return s.State }),
		Only: []string{sessions.StateRunning, sessions.StateWaiting, sessions.StateKeeping, sessions.StateLost, sessions.StateStopped, sessions.StateSuspended, sessions.StateKilled, sessions.StateExited, sessions.StateGone, sessions.StateUnknown}},
}
