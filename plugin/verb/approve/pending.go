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
		r := newPendingRow()
		r.group, r.q, r.now = group, control.Merged(group), now
		r.trunc = !opts.noTrunc && format.IsTable() // and its complete text
		if !r.trunc && len(group) == 1 {
			if r.q, err = wholeQuestion(ctx, store, r.q); errors.Is(err, approval.ErrUnknown) {
				continue // it has been answered
			} else if err != nil {
				return err
			}
		}
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

// pendingRow is one request for templates, or in tables the same request of several containers and directories.
type pendingRow struct {
	formatter.HeaderContext
	group []control.Question
	q     control.Question // merged
	trunc bool
	now   time.Time
}

func newPendingRow() *pendingRow {
	r := &pendingRow{}
	r.Header = formatter.SubHeaderContext{
		"ID": "REQUEST", "Session": "SESSION", "Container": "CONTAINER", "Command": "COMMAND", "Directory": "DIRECTORY",
		"Rule": "RULE", "Asked": "ASKED", "Left": "LEFT", "Callers": "CALLERS", "Before": "BEFORE",
		"Effects": "EFFECTS", "Notes": "NOTES", "Preview": "PREVIEW", "Project": "PROJECT", "Branch": "BRANCH", "Agent": "AGENT",
		"Group": "GROUP", "Files": "FILES", "Diff": "DIFF",
	}
	return r
}

func (r *pendingRow) MarshalJSON() ([]byte, error) { return formatter.MarshalJSON(r) }

func (r *pendingRow) Rule() string    { return r.q.Rule }
func (r *pendingRow) Before() string  { return r.q.Earlier.String() }
func (r *pendingRow) Notes() string   { return strings.Join(r.q.Notes, "; ") }
func (r *pendingRow) Preview() string { return r.q.Preview.String() }
func (r *pendingRow) Group() string   { return r.q.Group }
func (r *pendingRow) Diff() string    { return r.q.Diff }

// Files returns the files on which an approval can depend, or why it cannot.
func (r *pendingRow) Files() string { return cmp.Or(r.q.Inputs.String(), r.q.NoInputs) }

func (r *pendingRow) Session() string {
	return r.each(func(q control.Question) string { return q.Session })
}
func (r *pendingRow) Container() string {
	return r.each(func(q control.Question) string { return q.Container })
}
func (r *pendingRow) Directory() string {
	return r.each(func(q control.Question) string { return q.Dir })
}
func (r *pendingRow) Project() string {
	return r.each(func(q control.Question) string { return q.Project })
}
func (r *pendingRow) Branch() string {
	return r.each(func(q control.Question) string { return q.Branch })
}
func (r *pendingRow) Agent() string {
	return r.each(func(q control.Question) string { return q.Agent })
}

// each returns the different texts of the row's requests.
func (r *pendingRow) each(text func(control.Question) string) string {
	if len(r.group) < 2 {
		return text(r.q)
	}
	all := strings.Join(control.Distinct(r.group, text), ", ")
	if r.trunc {
		return cli.Ellipsis(all, 40)
	}
	return all
}

// ID returns the request's ID. If there are several, it has their number, or all of them.
func (r *pendingRow) ID() string {
	if n := len(r.group); n > 1 && r.trunc {
		return fmt.Sprintf("%s +%d", r.q.ID, n-1)
	}
	return r.each(func(q control.Question) string { return q.ID })
}

func (r *pendingRow) Asked() string { return units.HumanDuration(r.now.Sub(r.q.Asked)) + " ago" }
func (r *pendingRow) Left() string  { return units.HumanDuration(r.q.Deadline.Sub(r.now)) }

// Effects returns the effects that the rule names, after the warning that it runs what the container can
// write.
func (r *pendingRow) Effects() string {
	effects := r.q.Effects
	if g := r.q.Grade; g.MayRunCode() {
		effects = append([]string{g.Label()}, effects...)
	}
	return strings.Join(effects, ", ")
}

// Callers returns the number of waiting callers. Callers that were cut off may return until Left.
func (r *pendingRow) Callers() string {
	n := len(r.q.Waiting) - r.q.Disconnected
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
func commandLine(q control.Question) string { return control.CommandLine(q.Words()) }
