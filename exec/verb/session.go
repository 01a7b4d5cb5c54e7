// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

const sessionUsage = `Usage: hostexec session COMMAND

Shells on the host, or in another container, whose directory, variables and functions stay
from command to command. The host has to allow them: docker hostexec run --proxy-shell,
--proxy-shell=allow,in=CONTAINER for another container, or rules for "shell".

  create [--env K=V]... [--cwd DIR] [--in CONTAINER] NAME   make a shell
  exec   [options] NAME -- TEXT...         run TEXT in it; what TEXT changes stays
  start  [options] NAME -- TEXT...         run TEXT in a copy of it, which holds it up for nobody
  ls     [--json]                          list the shells
  rm     NAME                              end a shell and all that it runs

TEXT is bash; more than one word is joined by spaces, as ssh does. It reads /dev/null. ^C
or another signal to the caller, a timeout and hostexec kill end it.

Options of exec and start:
  --env K=V        a variable for TEXT alone; may be repeated
  --cwd DIR        a directory for TEXT alone
  --timeout TIME   end TEXT, and not the shell, after 500ms, 10s, 5m
  --json           exec: one object with command, stdout, stderr, exit_code, duration and
                   timestamp; start: one line for each event

EXIT STATUS
  that of TEXT; 1 if --cwd cannot be entered, 2 if a variable cannot have its name,
  124 after the timeout, 125 if the shell is not ready or has ended, 126 if it was refused
`

// session runs a word of hostexec session.
func session(ctx context.Context, c *call.Call, args []string) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		return c.Print([]byte(sessionUsage))
	}
	shells, ok := c.Shells()
	if !ok {
		return c.Fail(call.UsageError("shells are not available here"))
	}
	word := args[0]
	r, err := parseSession(word, args[1:])
	var bad *shell.EnvNameError
	switch {
	case errors.As(err, &bad):
		return c.Fail(call.Failure{Status: call.StatusFailed, Code: 2, Line: call.Line("%s", err), Reason: err.Error(), Hint: "see hostexec session --help"})
	case err != nil:
		return c.Fail(call.Failure{Status: call.StatusFailed, Reason: err.Error(), Hint: "see hostexec session --help"})
	}
	switch word {
	case "create":
		return shells.Create(ctx, r)
	case "ls":
		return c.Print(renderShells(shells.List(), r.JSON))
	case "rm":
		shells.Remove(r.Name) // again and again: what is wanted is that there is none
		return c.Print(nil)
	}
	return shells.Run(ctx, r)
}

func renderShells(all []shell.Info, asJSON bool) []byte {
	var b bytes.Buffer
	if asJSON {
		out := json.NewEncoder(&b)
		out.SetIndent("", "  ")
		out.Encode(all) // strings and numbers always marshal
		return names.ASCII(b.Bytes())
	}
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tPID\tSTATE\tAGE\tDIRECTORY")
	for _, i := range all {
		state, pid := "idle", "-"
		if i.Busy {
			state = "busy"
		}
		if i.PID != 0 {
			pid = strconv.Itoa(i.PID)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, pid, state, time.Since(i.Since).Round(time.Second), names.Printable(i.Place()))
	}
	w.Flush()
	return b.Bytes()
}
