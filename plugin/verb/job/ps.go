// SPDX-License-Identifier: Apache-2.0

// Package job has the verbs for running and ended commands: ps, kill, logs and replay.
package job

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const psLong = `List calls and jobs that run on this host, of all sessions or of those named

A job (hostexec -d in a container) continues without its caller. A kept job (--keep) continues
without its container, too. KIND left means processes that a call or job has left running: they
end with the session, or by docker hostexec kill.

STATUS is running or, for a job with --all, one of
  completed  it exited with 0
  failed     it exited with another code, by a signal, or at its timeout
  killed     a person, hostexec kill, or the end of its session ended it
  error      hostexec ended it, because it had too much output or too many processes

Long commands are shortened, unless --no-trunc is given.

EXIT STATUS
  0  the calls and jobs were listed
  1  a session was not found, or did not answer`

type psOptions struct {
	all, quiet, noTrunc bool
	format              string
	filters             []string
}

// NewPsCommand returns the verb ps.
func NewPsCommand(dockerCLI command.Cli) *cobra.Command {
	var opts psOptions
	cmd := &cobra.Command{
		Use:               "ps [OPTIONS] [SESSION|CONTAINER...]",
		Short:             "List calls and jobs",
		Long:              psLong,
		Example:           "  docker hostexec ps -a --format '{{.ID}} {{.Status}} {{.Command}}'",
		ValidArgsFunction: sessions.Complete,
		RunE: cli.Verb(cli.With(sessions.OpenStore, func(cmd *cobra.Command, store *state.Store, args []string) error {
			return ps(cmd.Context(), names.ASCIIWriter(dockerCLI.Out()), store, args, opts)
		})),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.all, "all", "a", false, "Show jobs that have ended, too")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "Only show IDs")
	flags.BoolVar(&opts.noTrunc, "no-trunc", false, "Do not truncate output")
	cli.FilterFlag(cmd, &opts.filters, "f", "calls and jobs", activityCriteria, sessions.FilterValues)
	cli.FormatFlag(cmd, &opts.format, cli.FieldsOf(psRow{}))
	return cmd
}

// activityCriteria are the keys of --filter for calls and jobs.
var activityCriteria = []cli.Criterion[activity]{
	{Key: "id", Is: cli.Begins(func(a activity) string { return a.ID })},
	{Key: "container", Is: cli.Equals(func(a activity) string { return a.Container })},
	{Key: "session", Is: cli.Begins(func(a activity) string { return a.Session })},
	{Key: "command", Is: func(a activity, v string) bool { return len(a.Args) > 0 && a.Args[0] == v }},
	{Key: "kind", Is: cli.EqualsFold(func(a activity) string { return a.Kind }), Only: []string{kindCall, kindJob, kindLeft}},
	{Key: "status", Is: cli.EqualsFold(func(a activity) string { return string(a.Status) }),
		Only: []string{string(job.Running), string(job.Completed), string(job.Failed), string(job.Killed), string(job.Error)}},
}

func ps(ctx context.Context, w io.Writer, store *state.Store, refs []string, opts psOptions) error {
	keep, err := cli.ParseFilters(opts.filters, activityCriteria)
	if err != nil {
		return err
	}
	recs, err := sessions.FindAll(store, refs)
	if err != nil {
		return err
	}
	all, err := activities(ctx, store, recs)
	now := time.Now()
	var rows []*psRow
	for _, a := range all {
		live := a.Status == job.Running
		if !live && !opts.all && !keep.Has("status") || !keep.Match(a) {
			continue
		}
		if opts.noTrunc {
			a = a.whole(ctx, store)
		}
		rows = append(rows, newPsRow(a, !opts.noTrunc, now))
	}
	const table = "table {{.ID}}\t{{.Container}}\t{{.Kind}}\t{{.Status}}\t{{.Exit}}\t{{.Time}}\t{{.Command}}"
	out := formatter.Context{Output: w, Format: cli.ListFormat(opts.quiet, opts.format, table), Trunc: !opts.noTrunc}
	return errors.Join(err, cli.WriteRows(out, rows))
}

// psRow is one activity for templates.
type psRow struct {
	cli.Row
	ID, Session, Container string
	Kind                   string // call, job or left, and whether the job may outlive its container
	Status                 string
	Exit                   string // the exit code, if it is known
	Time                   string // how long it has run
	Command, Directory     string
	PID, Started, Reason   string
}

func (r psRow) MarshalJSON() ([]byte, error) { return cli.MarshalRow(r) }

func newPsRow(a activity, trunc bool, now time.Time) *psRow {
	r := &psRow{
		ID: a.ID, Session: a.Session, Container: a.Container, Kind: a.Kind, Status: string(a.Status), Exit: strconv.Itoa(a.Code),
		Command: control.CommandLine(a.Args), Directory: a.Dir, PID: strconv.Itoa(a.PID), Started: a.Started.Format(time.RFC3339), Reason: a.Reason,
	}
	if a.Keep {
		r.Kind += ", kept"
	}
	until := a.Ended
	if a.Status == job.Running {
		r.Exit, until = "-", now
	}
	r.Time = units.HumanDuration(until.Sub(a.Started))
	if trunc {
		r.Command = cli.Ellipsis(r.Command, 60)
	} else {
		r.Command += a.Cut.String()
	}
	return r
}
