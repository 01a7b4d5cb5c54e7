// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"errors"
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

--watch shows each request completely, one argument per line, and you answer it with a key:
y approves it once, a until the session ends, u while its files are unchanged, v lets one
argument vary, n and Enter refuse it, r refuses it with a reason, N refuses it until the
session ends, q quits.

If nobody can be asked, a request is refused at once, unless approval.wait is always. You can
be asked by --watch, by an open page of docker hostexec ui, on the terminal that started the
session, and by a notifier that works.

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
		RunE: cli.VerbWithSignals(func(cmd *cobra.Command, _ []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
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
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "Only show request IDs")
	flags.BoolVar(&opts.noTrunc, "no-trunc", false, "Do not truncate output")
	flags.BoolVarP(&opts.watch, "watch", "w", false, "Show each request when it arrives, and answer it with a key")
	cli.FormatFlag(cmd, &opts.format, cli.Columns(newPendingRow().Header))
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
	all, err := questions(ctx, store)
	if err != nil {
		return err
	}
	format := cli.ListFormat(opts.quiet, opts.format, pendingColumns(all))
	now := time.Now()
	var rows []*pendingRow
	for _, q := range all {
		if !keep(q) {
			continue
		}
		r := newPendingRow()
		r.now = now
		r.trunc = !opts.noTrunc && format.IsTable() // a program that approves needs the complete text
		if !r.trunc {
			if q, err = wholeQuestion(ctx, store, q); errors.Is(err, approval.ErrUnknown) {
				continue // it has been answered
			} else if err != nil {
				return err
			}
		}
		r.q = q
		rows = append(rows, r)
	}
	return cli.WriteRows(formatter.Context{Output: names.ASCIIWriter(dockerCLI.Out()), Format: format, Trunc: !opts.noTrunc}, newPendingRow(), rows)
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

// pendingRow is one request for templates.
type pendingRow struct {
	formatter.HeaderContext
	q     control.Question
	trunc bool
	now   time.Time
}

func newPendingRow() *pendingRow {
	r := &pendingRow{}
	r.Header = formatter.SubHeaderContext{
		"ID": "REQUEST", "Session": "SESSION", "Container": "CONTAINER", "Command": "COMMAND", "Directory": "DIRECTORY",
		"Rule": "RULE", "Asked": "ASKED", "Left": "LEFT", "Callers": "CALLERS", "Before": "BEFORE",
		"Effects": "EFFECTS", "Notes": "NOTES", "Project": "PROJECT", "Branch": "BRANCH", "Agent": "AGENT",
	}
	return r
}

// MarshalJSON implements {{json .}}.
func (r *pendingRow) MarshalJSON() ([]byte, error) { return formatter.MarshalJSON(r) }

func (r *pendingRow) ID() string        { return r.q.ID }
func (r *pendingRow) Session() string   { return r.q.Session }
func (r *pendingRow) Container() string { return r.q.Container }
func (r *pendingRow) Directory() string { return r.q.Dir }
func (r *pendingRow) Rule() string      { return r.q.Rule }
func (r *pendingRow) Project() string   { return r.q.Project }
func (r *pendingRow) Branch() string    { return r.q.Branch }
func (r *pendingRow) Before() string    { return r.q.Earlier.String() }
func (r *pendingRow) Agent() string     { return r.q.Agent }
func (r *pendingRow) Notes() string     { return strings.Join(r.q.Notes, "; ") }
func (r *pendingRow) Asked() string     { return units.HumanDuration(r.now.Sub(r.q.Asked)) + " ago" }
func (r *pendingRow) Left() string      { return units.HumanDuration(r.q.Deadline.Sub(r.now)) }

// Effects returns the effects that the rule names, after the warning that it runs what the container can
// write.
func (r *pendingRow) Effects() string {
	effects := r.q.Effects
	if g := r.q.Grade; g.Code() {
		effects = append([]string{g.Label()}, effects...)
	}
	return strings.Join(effects, ", ")
}

// Callers returns the number of waiting callers. Callers that were cut off may return until Left.
func (r *pendingRow) Callers() string {
	n := len(r.q.Waiting) - r.q.Gone
	if n == 0 {
		return "gone"
	}
	return strconv.Itoa(n)
}

func (r *pendingRow) Command() string {
	text := commandLine(r.q)
	if r.trunc {
		return cli.Ellipsis(text, 60)
	}
	return text
}

// commandLine returns a request's command quoted for a shell.
func commandLine(q control.Question) string { return control.Line(q.Args) }
