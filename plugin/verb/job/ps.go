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
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			store, err := sessions.OpenStore()
			if err != nil {
				return err
			}
			return ps(cmd.Context(), names.ASCIIWriter(dockerCLI.Out()), store, args, opts)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.all, "all", "a", false, "Show jobs that have ended, too")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "Only show IDs")
	flags.BoolVar(&opts.noTrunc, "no-trunc", false, "Do not truncate output")
	cli.FilterFlag(cmd, &opts.filters, "f", "calls and jobs", activityCriteria, sessions.FilterValues)
	cli.FormatFlag(cmd, &opts.format, cli.Columns(newPsRow().Header))
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
		r := newPsRow()
		r.a, r.trunc, r.now = a, !opts.noTrunc, now
		rows = append(rows, r)
	}
	const table = "table {{.ID}}\t{{.Container}}\t{{.Kind}}\t{{.Status}}\t{{.Exit}}\t{{.Time}}\t{{.Command}}"
	out := formatter.Context{Output: w, Format: cli.ListFormat(opts.quiet, opts.format, table), Trunc: !opts.noTrunc}
	return errors.Join(err, cli.WriteRows(out, newPsRow(), rows))
}

// psRow is one activity for templates.
type psRow struct {
	formatter.HeaderContext
	a     activity
	trunc bool
	now   time.Time
}

func newPsRow() *psRow {
	r := &psRow{}
	r.Header = formatter.SubHeaderContext{
		"ID": "ID", "Session": "SESSION", "Container": "CONTAINER", "Kind": "KIND", "Status": "STATUS", "Exit": "EXIT", "Time": "TIME",
		"Command": "COMMAND", "Directory": "DIRECTORY", "PID": "PID", "Started": "STARTED", "Reason": "REASON",
	}
	return r
}

func (r *psRow) MarshalJSON() ([]byte, error) { return formatter.MarshalJSON(r) }

func (r *psRow) ID() string        { return r.a.ID }
func (r *psRow) Session() string   { return r.a.Session }
func (r *psRow) Container() string { return r.a.Container }
func (r *psRow) Status() string    { return string(r.a.Status) }
func (r *psRow) Directory() string { return r.a.Dir }
func (r *psRow) Reason() string    { return r.a.Reason }
func (r *psRow) PID() string       { return strconv.Itoa(r.a.PID) }
func (r *psRow) Started() string   { return r.a.Started.Format(time.RFC3339) }

// Kind returns call, job or left, and whether the job may outlive its container.
func (r *psRow) Kind() string {
	if r.a.Keep {
		return r.a.Kind + ", kept"
	}
	return r.a.Kind
}

// Exit returns the exit code, if it is known.
func (r *psRow) Exit() string {
	if r.a.Status == job.Running {
		return "-"
	}
	return strconv.Itoa(r.a.Code)
}

// Time returns how long it has run.
func (r *psRow) Time() string {
	until := r.now
	if r.a.Status != job.Running {
		until = r.a.Ended
	}
	return units.HumanDuration(until.Sub(r.a.Started))
}

func (r *psRow) Command() string {
	text := control.CommandLine(r.a.Args)
	if r.trunc {
		return cli.Ellipsis(text, 60)
	}
	return text + r.a.Cut.String()
}
