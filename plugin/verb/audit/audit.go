// SPDX-License-Identifier: Apache-2.0

// Package audit has the verb audit, which shows and verifies the audit log.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const auditLong = `Show the requests, decisions and commands of all sessions

EVENT is one of
  REQUEST       a person was about to be asked
  AUTO_APPROVE  the rule that is shown allowed it without a question
  APPROVE       a person or a grant allowed it
  DENY          a person, a rule or a limit refused it, nothing allows it, or nobody could be asked
  TIMEOUT       nobody answered in time
  CANCEL        the caller left before anybody answered
  START         it was about to run
  COMPLETE      it has ended
  REFUSALS      several refusals without records of their own; the last one is shown

REQUEST is shortened; the shown part is enough for --filter request= and for replay. Times are
local; --raw shows the lines of the log, with UTC. Texts of containers are printable ASCII, and
quoted if they contain other characters. If the clock was set back by more than an hour,
--since can miss records.

EXIT STATUS
  0  the records were shown
  1  they could not be shown`

const auditExample = `  docker hostexec audit -f
  docker hostexec audit --since 15m --filter event=DENY --filter container=web
  docker hostexec audit --filter event=COMPLETE --format '{{.Duration}} {{.Command}}'`

type auditOptions struct {
	follow, raw   bool
	since, format string
	tail          string
	filters       []string
}

// NewCommand returns the verb audit.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	var opts auditOptions
	cmd := &cobra.Command{
		Use:               "audit [OPTIONS]",
		Short:             "Show the log of requests, decisions and commands",
		Long:              auditLong,
		Example:           auditExample,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, _ []string) error {
			return showAudit(cmd.Context(), names.ASCIIWriter(dockerCLI.Out()), dockerCLI.Err(), store.Audit(), opts)
		})),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.follow, "follow", "f", false, "Also show new records")
	flags.BoolVar(&opts.raw, "raw", false, "Show the lines of the log as they are")
	flags.StringVar(&opts.since, "since", "", "Only show records since a `time` (15m, 7d, 2026-01-31, 2026-01-31T12:00:00Z)")
	flags.StringVarP(&opts.tail, "tail", "n", "all", "`Number` of records to show from the end")
	cli.FormatFlag(cmd, &opts.format, cli.FieldsOf(auditRow{}))
	cli.FilterFlag(cmd, &opts.filters, "", "records", auditCriteria, sessions.FilterValues)
	cmd.MarkFlagsMutuallyExclusive("raw", "format")
	cmd.AddCommand(newAuditVerifyCommand(dockerCLI), newAuditStatsCommand(dockerCLI))
	return cmd
}

// auditView selects the records to show.
type auditView struct {
	keep    cli.Filters[audit.Entry]
	since   time.Time
	tail    int // -1 means all
	show    func(audit.Line, audit.Entry) error
	invalid int // number of lines that are not valid records
}

func newAuditView(out io.Writer, opts auditOptions) (v *auditView, err error) {
	v = &auditView{tail: -1}
	if opts.tail != "all" {
		if v.tail, err = strconv.Atoi(opts.tail); err != nil || v.tail < 0 {
			return nil, fmt.Errorf("--tail %s: want a number of records, or all", names.Quoted(opts.tail))
		}
	}
	if v.keep, err = cli.ParseFilters(opts.filters, auditCriteria); err != nil {
		return nil, err
	}
	if v.since, err = cli.SinceTime(opts.since, time.Now()); err != nil {
		return nil, err
	}
	v.show, err = auditWriter(out, opts)
	return v, err
}

func showAudit(ctx context.Context, out, errs io.Writer, path string, opts auditOptions) error {
	v, err := newAuditView(out, opts)
	if err != nil {
		return err
	}
	r, err := openAudit(ctx, path, opts.follow)
	if err != nil || r == nil {
		return err
	}
	defer r.Close()
	if opts.follow {
		r.Follow()
	}
	if err := v.skip(r); err != nil {
		return err
	}
	if err := v.begin(r); err != nil {
		return err
	}
	v.warn(errs)
	if !opts.follow {
		return nil
	}
	return v.follow(ctx, r, errs)
}

// skip skips records that are too old to be shown.
func (v *auditView) skip(r *audit.Reader) error {
	if v.since.IsZero() {
		return nil
	}
	return r.SkipBefore(v.since)
}

// openAudit opens the log. If there is none, it waits for one, or returns nil.
func openAudit(ctx context.Context, path string, wait bool) (*audit.Reader, error) {
	for {
		r, err := audit.OpenReader(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		if !wait || !pause(ctx) {
			return nil, nil
		}
	}
}

// pause waits a short time. It returns false if ctx has ended.
func pause(ctx context.Context) bool {
	return cli.PauseUntil(ctx, time.Now().Add(200*time.Millisecond))
}

// auditRecord is one line and its record.
type auditRecord struct {
	line  audit.Line
	entry audit.Entry
}

// begin shows the existing records, or the last of them.
func (v *auditView) begin(r *audit.Reader) error {
	var end []auditRecord
	for {
		rec, err := v.next(r)
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case err != nil:
			return err
		case v.tail < 0:
			err = v.show(rec.line, rec.entry)
		case v.tail > 0:
			if len(end) == v.tail {
				end = end[1:]
			}
			end = append(end, rec)
		}
		if err != nil {
			return err
		}
	}
	for _, rec := range end {
		if err := v.show(rec.line, rec.entry); err != nil {
			return err
		}
	}
	return nil
}

// follow shows new records.
func (v *auditView) follow(ctx context.Context, r *audit.Reader, errs io.Writer) error {
	for {
		rec, err := v.next(r)
		if err == nil {
			err = v.show(rec.line, rec.entry)
		} else if errors.Is(err, io.EOF) {
			v.warn(errs)
			if !pause(ctx) {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next selected record.
func (v *auditView) next(r *audit.Reader) (auditRecord, error) {
	for {
		line, err := r.Next()
		if err != nil {
			return auditRecord{}, err
		}
		e, err := audit.Parse(line.Text)
		if err != nil && !line.Incomplete() || !line.Recordable {
			v.invalid++
		}
		if (err == nil || errors.Is(err, audit.ErrHash)) && !e.Time.Before(v.since) && v.keep.Match(e) {
			return auditRecord{line, e}, nil
		}
	}
}

// warn warns of invalid lines.
func (v *auditView) warn(errs io.Writer) {
	if v.invalid > 0 {
		cli.Say(errs, "warning: the log is not as it was written: %s", cli.Count(v.invalid, "line"))
		cli.Say(errs, "hint: docker hostexec audit verify")
	}
	v.invalid = 0
}
