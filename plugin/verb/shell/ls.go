// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func newShellLsCommand(dockerCLI command.Cli) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "ls [OPTIONS] [SESSION|CONTAINER...]", Short: "List the shells of all sessions, or of those named", Long: lsLong, ValidArgsFunction: sessions.Complete,
		Example: "  docker hostexec shell ls --format '{{.Session}} {{.Name}} {{.Directory}}'",
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			store, err := sessions.OpenStore()
			if err != nil {
				return err
			}
			recs, err := sessions.FindAll(store, args)
			if err != nil {
				return err
			}
			rows, err := shellRows(cmd.Context(), store, recs, len(args) > 0)
			return errors.Join(err, writeShells(names.ASCIIWriter(dockerCLI.Out()), rows, format))
		}),
	}
	cli.FormatFlag(cmd, &format, cli.Columns(newShellRow().Header))
	return cmd
}

// shellRows asks each session for its shells. A session without a watcher has none, which is an error if the
// session was named.
func shellRows(ctx context.Context, store *state.Store, recs []state.Session, named bool) (rows []*shellRow, err error) {
	var errs []error
	for _, rec := range recs {
		all, err := control.Query(ctx, store.Dir(rec.ID), (*control.Client).Shells)
		if err != nil && (named || !errors.Is(err, control.ErrNoWatcher)) {
			errs = append(errs, fmt.Errorf("session %s: %w", rec.ID, err))
		}
		for _, i := range all {
			r := newShellRow()
			r.rec, r.i = rec, i
			rows = append(rows, r)
		}
	}
	return rows, errors.Join(errs...)
}

func writeShells(w io.Writer, rows []*shellRow, format string) error {
	const table = "table {{.Session}}\t{{.Container}}\t{{.Name}}\t{{.PID}}\t{{.State}}\t{{.Directory}}"
	return cli.WriteRows(formatter.Context{Output: w, Format: cli.ListFormat(false, format, table)}, newShellRow(), rows)
}

// shellRow is one shell for templates.
type shellRow struct {
	formatter.HeaderContext
	rec state.Session
	i   shell.Info
}

func newShellRow() *shellRow {
	r := &shellRow{}
	r.Header = formatter.SubHeaderContext{
		"Session": "SESSION", "Container": "CONTAINER", "Name": "NAME", "In": "IN", "PID": "PID", "State": "STATE", "Age": "AGE", "Directory": "DIRECTORY",
	}
	return r
}

func (r *shellRow) MarshalJSON() ([]byte, error) { return formatter.MarshalJSON(r) }

func (r *shellRow) Session() string   { return r.rec.ID }
func (r *shellRow) Container() string { return r.rec.ContainerName }
func (r *shellRow) Name() string      { return r.i.Name }
func (r *shellRow) In() string        { return r.i.In }
func (r *shellRow) Age() string       { return units.HumanDuration(time.Since(r.i.Since)) }
func (r *shellRow) Directory() string { return names.Printable(r.i.Directory()) }

// PID returns the shell's PID, in its container if it has one, or "-" while it has no process.
func (r *shellRow) PID() string {
	if r.i.PID == 0 {
		return "-"
	}
	return strconv.Itoa(r.i.PID)
}

func (r *shellRow) State() string {
	if r.i.Busy {
		return "busy"
	}
	return "idle"
}
