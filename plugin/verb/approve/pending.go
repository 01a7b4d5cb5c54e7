// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const pendingLong = `List requests that wait for your approval, or answer them one by one

The table shows the same request of several containers and directories in one row; --no-trunc
shows all its ids. Other formats have a row for each request.

--watch shows each request completely, one argument per line, and the same request of several
containers together. A row that begins with > continues the line above it. You answer with a key:

  y, a, u   approve it once, for this session, or while its files are unchanged
  v         approve it with an argument that may vary
  n, Enter  refuse it
  r, N      refuse it with a reason, or for this session
  q         quit

If nobody can be asked, a request is refused at once, unless approval.wait is always. You can
be asked by --watch, an open page of docker hostexec ui, or the terminal that started the
session. A notifier that works counts, too.

EXIT STATUS
  0  the requests were listed
  1  they could not be listed`

const pendingExample = `  docker hostexec pending --watch
  docker hostexec pending --filter command=git --format '{{.ID}} {{.Command}}'`

type pendingOptions struct {
	quiet, noTrunc, watch bool
	format                string
	filters               []string
}

// NewPendingCommand returns the verb pending.
func NewPendingCommand(dockerCLI command.Cli) *cobra.Command {
	var opts pendingOptions
	cmd := &cobra.Command{
		Use:               "pending [OPTIONS]",
		Short:             "List requests that wait for approval",
		Long:              pendingLong,
		Example:           pendingExample,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.VerbWithSignals(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, _ []string) error {
			keep, err := cli.ParseFilters(opts.filters, questionCriteria)
			if err != nil {
				return err
			}
			if opts.watch {
				ctx, stop := cli.Interruptible(cmd.Context(), dockerCLI)
				defer stop()
				return errors.Join(watchPending(ctx, dockerCLI, store, keep.Match), context.Cause(ctx))
			}
			defer cli.EndOnSignal(cmd.Context())()
			return listPending(cmd.Context(), dockerCLI, store, keep.Match, opts)
		})),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "Only show request IDs")
	flags.BoolVar(&opts.noTrunc, "no-trunc", false, "Do not truncate output")
	flags.BoolVarP(&opts.watch, "watch", "w", false, "Show each request when it arrives, and answer it with a key")
	cli.FormatFlag(cmd, &opts.format, cli.FieldsOf(pendingRow{}))
	cli.FilterFlag(cmd, &opts.filters, "f", "requests", questionCriteria, sessions.FilterValues)
	return cmd
}

// questionCriteria are the keys of --filter for requests.
var questionCriteria = []cli.Criterion[control.Question]{
	{Key: "command", Is: cli.Equals(func(q control.Question) string { return q.Args[0] })},
	{Key: "container", Is: cli.Equals(func(q control.Question) string { return q.Container })},
	{Key: "session", Is: cli.Begins(func(q control.Question) string { return q.Session })},
}

func listPending(ctx context.Context, dockerCLI command.Cli, store *state.Store, keep func(control.Question) bool, opts pendingOptions) error {
	all, err := control.AllPending(ctx, store)
	if err != nil {
		return err
	}
	format := cli.ListFormat(opts.quiet, opts.format, pendingColumns(all))
	all = slices.DeleteFunc(all, func(q control.Question) bool { return !keep(q) })
	groups := slices.Collect(slices.Chunk(all, 1)) // a program that approves needs each request
	if format.IsTable() {
		groups = control.Groups(all)
	}
	now := time.Now()
	var rows []*pendingRow
	for _, group := range groups {
		q, trunc := control.Merged(group), !opts.noTrunc && format.IsTable()
		if !trunc && len(group) == 1 {
			if q, err = wholeQuestion(ctx, store, q); errors.Is(err, approval.ErrUnknown) {
				continue // it has been answered
			} else if err != nil {
				return err
			}
		}
		rows = append(rows, newPendingRow(group, q, trunc, now))
	}
	return cli.WriteRows(formatter.Context{Output: names.ASCIIWriter(dockerCLI.Out()), Format: format, Trunc: !opts.noTrunc}, rows)
}

// pendingTable has the default columns. A usual request fits into 80 characters.
const pendingTable = "table {{.ID}}\t{{.Container}}\t{{.Command}}\t{{.Directory}}\t{{.Left}}"

// pendingColumns returns pendingTable. If a question was asked before, it also has a column for that.
func pendingColumns(all []control.Question) string {
	if slices.ContainsFunc(all, func(q control.Question) bool { return q.Earlier.Asked > 0 }) {
		return pendingTable + "\t{{.Before}}"
	}
	return pendingTable
}

// pendingRow is one request for templates, or in tables the same request of several containers and directories.
type pendingRow struct {
	cli.Row
	ID                     string `header:"REQUEST"` // with the number of the others, or all of them
	Session, Container     string
	Command, Directory     string
	Rule, Asked, Left      string
	Callers                string // the number of waiting callers; those that were cut off may return until Left
	Before                 string
	Effects                string // after the warning that it runs what the container can write
	Notes, Preview         string
	Project, Branch, Agent string
	Group                  string
	Files                  string // the files on which an approval can depend, or why it cannot
	Diff                   string
}

func (r pendingRow) MarshalJSON() ([]byte, error) { return cli.MarshalRow(r) }

// newPendingRow returns the row of a group, of which q is the merged question.
func newPendingRow(group []control.Question, q control.Question, trunc bool, now time.Time) *pendingRow {
	// each returns the different texts of the row's requests.
	each := func(text func(control.Question) string) string {
		if len(group) < 2 {
			return text(q)
		}
		all := strings.Join(control.Distinct(group, text), ", ")
		if trunc {
			return cli.Ellipsis(all, 40)
		}
		return all
	}
	r := &pendingRow{
		ID:        each(func(q control.Question) string { return q.ID }),
		Session:   each(func(q control.Question) string { return q.Session }),
		Container: each(func(q control.Question) string { return q.Container }),
		Directory: each(func(q control.Question) string { return q.Dir }),
		Project:   each(func(q control.Question) string { return q.Project }),
		Branch:    each(func(q control.Question) string { return q.Branch }),
		Agent:     each(func(q control.Question) string { return q.Agent }),
		Command:   commandLine(q),
		Rule:      q.Rule, Group: q.Group, Before: q.Earlier.String(),
		Asked: units.HumanDuration(now.Sub(q.Asked)) + " ago", Left: units.HumanDuration(q.Deadline.Sub(now)),
		Callers: "gone", Effects: strings.Join(q.Effects, ", "), Notes: strings.Join(q.Notes, "; "),
		Preview: q.Preview.String(), Files: cmp.Or(q.Inputs.String(), q.NoInputs), Diff: q.Diff,
	}
	if n := len(q.Waiting) - q.Disconnected; n != 0 {
		r.Callers = strconv.Itoa(n)
	}
	if g := q.Grade; g.MayRunCode() {
		r.Effects = strings.Join(append([]string{g.Label()}, q.Effects...), ", ")
	}
	if trunc {
		r.Command = cli.Ellipsis(r.Command, 60)
		if n := len(group); n > 1 {
			r.ID = fmt.Sprintf("%s +%d", q.ID, n-1)
		}
	}
	return r
}

// commandLine returns a request's command quoted for a shell.
func commandLine(q control.Question) string { return control.CommandLine(q.Words()) }
