// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
		RunE: cli.Verb(cli.With(sessions.OpenStore, func(cmd *cobra.Command, store *state.Store, args []string) error {
			recs, err := sessions.FindAll(store, args)
			if err != nil {
				return err
			}
			rows, err := shellRows(cmd.Context(), store, recs, len(args) > 0)
			return errors.Join(err, writeShells(names.ASCIIWriter(dockerCLI.Out()), rows, format))
		})),
	}
	cli.FormatFlag(cmd, &format, cli.FieldsOf(shellRow{}))
	return cmd
}

// shellRows asks each session for its shells. A session without a watcher has none, which is an error if the
// session was named.
func shellRows(ctx context.Context, store *state.Store, recs []state.Session, named bool) (rows []*shellRow, err error) {
	some, errs := control.Each(recs, func(rec state.Session) (rows []*shellRow, err error) {
		all, err := control.Query(ctx, store.Dir(rec.ID), (*control.Client).Shells)
		for _, i := range all {
			rows = append(rows, newShellRow(rec, i))
		}
		if err != nil && (named || !errors.Is(err, control.ErrNoWatcher)) {
			return rows, fmt.Errorf("session %s: %w", rec.ID, err)
		}
		return rows, nil
	})
	return slices.Concat(some...), errors.Join(errs...)
}

func writeShells(w io.Writer, rows []*shellRow, format string) error {
	const table = "table {{.Session}}\t{{.Container}}\t{{.Name}}\t{{.PID}}\t{{.State}}\t{{.Directory}}"
	return cli.WriteRows(formatter.Context{Output: w, Format: cli.ListFormat(false, format, table)}, rows)
}

// shellRow is one shell for templates.
type shellRow struct {
	cli.Row
	Session, Container, Name, In string
	PID                          string // in its container if it has one, or "-" while it has no process
	State, Age, Directory        string
}

func (r shellRow) MarshalJSON() ([]byte, error) { return cli.MarshalRow(r) }

func newShellRow(rec state.Session, i shell.Info) *shellRow {
	r := &shellRow{
		Session: rec.ID, Container: rec.ContainerName, Name: i.Name, In: i.In, PID: strconv.Itoa(i.PID), State: "idle",
		Age: units.HumanDuration(time.Since(i.Since)), Directory: names.Printable(i.Directory()),
	}
	if i.PID == 0 {
		r.PID = "-"
	}
	if i.Busy {
		r.State = "busy"
	}
	return r
}
