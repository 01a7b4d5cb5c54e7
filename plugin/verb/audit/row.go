// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/docker/cli/templates"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// auditCriteria are the keys of --filter for records. IDs match by their beginning.
var auditCriteria = []cli.Criterion[audit.Entry]{
	{Key: "event", Is: cli.EqualsFold(func(e audit.Entry) string { return string(e.Kind) }), Only: events()},
	{Key: "request", Is: cli.Begins(func(e audit.Entry) string { return e.Request })},
	{Key: "container", Is: cli.Equals(func(e audit.Entry) string { return e.Container })},
	{Key: "session", Is: cli.Begins(func(e audit.Entry) string { return e.Session })},
	{Key: "project", Is: cli.Equals(func(e audit.Entry) string { return e.Project })},
	{Key: "branch", Is: cli.Equals(func(e audit.Entry) string { return e.Branch })},
	{Key: "agent", Is: cli.Equals(func(e audit.Entry) string { return e.Agent })},
	{Key: "command", Is: cli.Equals(func(e audit.Entry) string { name, _, _ := strings.Cut(e.Command, " "); return name })},
	{Key: "rule", Is: cli.Equals(func(e audit.Entry) string { return e.Rule })},
	{Key: "user", Is: cli.Equals(func(e audit.Entry) string { return e.By })},
}

func events() (names []string) {
	for _, k := range audit.Kinds {
		names = append(names, string(k))
	}
	return names
}

// auditWriter returns the function that prints a record in the format of the options.
func auditWriter(out io.Writer, opts auditOptions) (func(audit.Line, audit.Entry) error, error) {
	switch {
	case opts.raw:
		return func(l audit.Line, _ audit.Entry) error {
			_, err := fmt.Fprintln(out, audit.PrintableText(l.Text))
			return err
		}, nil
	case opts.format == "json":
		enc := json.NewEncoder(out)
		return func(_ audit.Line, e audit.Entry) error { return enc.Encode(e) }, nil
	case opts.format == "table":
		return auditTable(out), nil
	case strings.HasPrefix(opts.format, "table "):
		return nil, errors.New("--format table TEMPLATE: records have no table with a template: give the template alone")
	}
	t, err := templates.Parse(opts.format)
	if err != nil {
		return nil, fmt.Errorf("--format: %w", err)
	}
	return func(_ audit.Line, e audit.Entry) error {
		var b strings.Builder
		if err := t.Execute(&b, newAuditRow(e)); err != nil {
			return fmt.Errorf("--format: %w", err)
		}
		_, err := io.WriteString(out, b.String()+"\n")
		return err
	}, nil
}

// auditTable prints columns of fixed width, because later records are not known yet.
func auditTable(out io.Writer) func(audit.Line, audit.Entry) error {
	const columns = "%-19s  %-12s  %-12.12s  %-16s  %4s  %9s  %s\n"
	headerWritten := false
	return func(_ audit.Line, e audit.Entry) error {
		if !headerWritten {
			headerWritten = true
			if _, err := fmt.Fprintf(out, columns, "TIME", "EVENT", "REQUEST", "CONTAINER", "EXIT", "DURATION", "COMMAND"); err != nil {
				return err
			}
		}
		r := newAuditRow(e)
		command := r.Command
		if detail := r.detail(); detail != "" {
			command += "  (" + detail + ")"
		}
		_, err := fmt.Fprintf(out, columns, e.Time.Local().Format("2006-01-02 15:04:05"), r.Event, cmp.Or(r.Request, "-"), cmp.Or(r.Container, "-"),
			cmp.Or(r.Exit, "-"), cmp.Or(r.Duration, "-"), command)
		return err
	}
}

// auditRow is one record for templates, in printable ASCII. Templates can use all fields, so there is one for each
// field of a record.
type auditRow struct {
	Time, Event, Project, Branch, Session, Container, Agent   string
	Command, Request, Rule, Pattern, Path, Directory          string
	User, Grant, Reason, Exit, Signal, Duration, Count, Since string
}

func newAuditRow(e audit.Entry) auditRow {
	r := auditRow{
		Time: e.Time.Local().Format("2006-01-02T15:04:05Z07:00"), Event: string(e.Kind),
		Project: e.Project, Branch: e.Branch, Session: e.Session, Container: e.Container, Agent: e.Agent,
		Command: e.Command, Request: e.Request, Rule: e.Rule, Pattern: e.Pattern, Path: e.Path, Directory: e.Dir,
		User: e.By, Grant: e.Grant, Reason: e.Reason, Signal: e.Signal,
	}
	for _, s := range []*string{
		&r.Project, &r.Branch, &r.Session, &r.Container, &r.Agent, &r.Command, &r.Request, &r.Rule,
		&r.Pattern, &r.Path, &r.Directory, &r.User, &r.Grant, &r.Reason, &r.Signal,
	} {
		*s = audit.PrintableText(*s)
	}
	if e.Bytes > 0 {
		r.Command += fmt.Sprintf(" ... (of %d bytes)", e.Bytes)
	}
	if e.Kind == audit.Refusals {
		r.Count = strconv.Itoa(e.Count)
		r.Since = e.Since.Local().Format("15:04:05")
	}
	if e.Kind == audit.Complete {
		r.Exit, r.Duration = strconv.Itoa(e.Exit), fmt.Sprintf("%.3fs", e.Duration.Seconds())
	}
	return r
}

// detail returns the fields of a record that have no column.
func (r auditRow) detail() string {
	switch audit.Kind(r.Event) {
	case audit.AutoApprove:
		return r.Pattern
	case audit.Request, audit.Start:
		return "in " + r.Directory
	case audit.Approve:
		if r.Grant != "" {
			return "by " + r.User + ", grant " + r.Grant
		}
		return "by " + r.User
	case audit.Deny:
		if r.User != "" {
			return r.Reason + ", by " + r.User
		}
		return r.Reason
	case audit.Refusals:
		return r.Count + " refusals since " + r.Since + " have no records: " + r.Reason + "; the last is shown"
	case audit.Complete:
		if r.Signal != "" {
			return "signal " + r.Signal
		}
	}
	return ""
}
