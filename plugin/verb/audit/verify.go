// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const auditVerifyLong = `Check that the audit log is as it was written

Each record contains its own hash and that of the session's previous record. So verify finds
records that were altered, removed, reordered, duplicated or truncated. Without FILE it checks
the log and its rotated files. Give the oldest FILE first.

verify cannot detect that the last records of a session were removed, or that records were
rewritten with new hashes. Every command that runs as you can do that. If old files are removed
(audit.keep), verify cannot detect other losses at the beginning. Copies on another machine can
show all of this.

EXIT STATUS
  0  no faults were found
  1  faults were found, or the log cannot be read`

func newAuditVerifyCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "verify [FILE...]",
		Short:             "Check that the audit log is as it was written",
		Long:              auditVerifyLong,
		Example:           "  docker hostexec audit verify\n  docker hostexec audit verify backup/audit.log.1 backup/audit.log",
		ValidArgsFunction: cli.CompleteFiles,
		RunE: cli.Verb(cli.With(state.Open, func(_ *cobra.Command, store *state.Store, files []string) error {
			return verifyAudit(names.ASCIIWriter(dockerCLI.Out()), store.Audit(), files)
		})),
	}
}

func verifyAudit(out io.Writer, path string, files []string) error {
	var r *audit.Reader
	var err error
	if len(files) > 0 {
		r, err = audit.OpenFiles(files...)
	} else {
		r, err = audit.OpenReader(path)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(out, "There is no audit log yet.")
			return nil
		}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	rep, err := audit.Verify(r)
	if err != nil {
		return err
	}
	for _, f := range rep.Faults {
		fmt.Fprintln(out, f)
	}
	printNotes(out, rep)
	if n := len(rep.Faults) + rep.More; n > 0 {
		return fmt.Errorf("the audit log is not as it was written: %s, the first in %s:%d",
			cli.Count(n, "fault"), rep.Faults[0].File, rep.Faults[0].Line)
	}
	fmt.Fprintf(out, "ok: %s in %s\n", cli.Count(rep.Records, "record"), cli.Count(rep.Chains, "chain"))
	return nil
}

// printNotes prints findings that are not faults.
func printNotes(out io.Writer, rep audit.Report) {
	if rep.More > 0 {
		fmt.Fprintf(out, "and %s more\n", cli.Count(rep.More, "fault"))
	}
	for _, f := range rep.Unfinished {
		fmt.Fprintf(out, "note: %s: it has a START record, but no end: it runs, or its watcher was killed\n", f)
	}
	if rep.Incomplete > 0 {
		fmt.Fprintf(out, "note: %s, because a writer was killed, or the disk was full\n", cli.Count(rep.Incomplete, "incomplete line"))
	}
	if rep.Earlier > 0 {
		fmt.Fprintf(out, "note: %s began in files that do not exist any more\n", cli.Count(rep.Earlier, "chain"))
	}
}
