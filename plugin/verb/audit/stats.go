// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const auditStatsLong = `Count questions, approvals and denials per day and command

The columns count requests:
  QUESTIONS   a person was asked
  APPROVED    by a person
  DENIED      by a person
  UNANSWERED  nobody answered in time, or the caller left
  ALLOWED     without a question, by a rule or a grant
  REFUSED     without a question

Days are local. --format json prints one object per row, without the total. If the log has more
than 1000 different rows, (others) counts the other commands of a day.

EXIT STATUS
  0  the counts were shown
  1  the log cannot be read`

const auditStatsExample = `  docker hostexec audit stats --since 7d
  docker hostexec audit stats --filter project=app --format '{{.Day}} {{.Command}} {{.Questions}}'`

type statsOptions struct {
	since, format string
	filters       []string
}

func newAuditStatsCommand(dockerCLI command.Cli) *cobra.Command {
	var opts statsOptions
	cmd := &cobra.Command{
		Use:               "stats [OPTIONS]",
		Short:             "Count questions, approvals and denials per day and command",
		Long:              auditStatsLong,
		Example:           auditStatsExample,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, _ []string) error {
			return showStats(cmd.Context(), names.ASCIIWriter(dockerCLI.Out()), dockerCLI.Err(), store.Audit(), opts)
		})),
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.since, "since", "", "Only count records since a `time` (15m, 7d, 2026-01-31, 2026-01-31T12:00:00Z)")
	cli.FormatFlag(cmd, &opts.format, cli.FieldsOf(stat{}))
	cli.FilterFlag(cmd, &opts.filters, "", "records", statsCriteria, sessions.FilterValues)
	return cmd
}

// statsCriteria are the keys of --filter that all records of a request have in common.
var statsCriteria = criteria("container", "session", "project", "branch", "agent", "command")

func criteria(keys ...string) (some []cli.Criterion[audit.Entry]) {
	for _, key := range keys {
		for _, c := range auditCriteria {
			if c.Key == key {
				some = append(some, c)
			}
		}
	}
	return some
}

func showStats(ctx context.Context, out, errs io.Writer, path string, opts statsOptions) error {
	v := &auditView{tail: -1}
	var err error
	if v.keep, err = cli.ParseFilters(opts.filters, statsCriteria); err != nil {
		return err
	}
	if v.since, err = cli.SinceTime(opts.since, time.Now()); err != nil {
		return err
	}
	s := newStats()
	r, err := openAudit(ctx, path, false)
	if err != nil {
		return err
	}
	if r != nil {
		defer r.Close()
		if err := errors.Join(v.skip(r), s.read(v, r)); err != nil {
			return err
		}
		v.warn(errs)
	}
	return writeStats(out, s.sorted(), opts.format)
}

// read counts the records that v selects.
func (s *stats) read(v *auditView, r *audit.Reader) error {
	for {
		rec, err := v.next(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.add(rec.entry)
	}
}

// statsTable has the default columns.
const statsTable = "table {{.Day}}\t{{.Command}}\t{{.Questions}}\t{{.Approved}}\t{{.Denied}}\t{{.Unanswered}}\t{{.Allowed}}\t{{.Refused}}"

// writeStats prints rows. The default table also has their sum.
func writeStats(out io.Writer, rows []*stat, format string) error {
	if format == formatter.TableFormatKey && len(rows) > 0 {
		rows = append(rows, sum(rows))
	}
	return cli.WriteRows(formatter.Context{Output: out, Format: cli.ListFormat(false, format, statsTable)}, rows)
}
