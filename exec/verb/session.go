// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

const sessionUsage = `Usage: hostexec session COMMAND

Shells on the host, or in another container, that keep their directory, variables and functions.
The host must allow them: docker hostexec run --proxy-shell, --proxy-shell=allow,in=CONTAINER for
another container, or rules for "shell".

  create [--env K=V]... [--cwd DIR] [--in CONTAINER] NAME   create a shell
  exec   [options] NAME -- TEXT...         run TEXT in a shell, which keeps the changes
  start  [options] NAME -- TEXT...         run TEXT in a copy of a shell, without waiting for it
  ls     [--json]                          list the shells
  rm     NAME                              end a shell and all its processes

TEXT is bash code. Several words are joined by spaces, as with ssh. TEXT reads /dev/null. It
ends by itself, by ^C or another signal to the caller, by a timeout, or by hostexec kill.

Options of exec and start:
  --env K=V        set a variable for TEXT only; may be repeated
  --cwd DIR        run TEXT in DIR
  --timeout TIME   end TEXT, but not the shell, after TIME: 500ms, 10s, 5m
  --json           exec: one object with command, stdout, stderr, exit_code, duration and
                   timestamp; start: one line for each event

EXIT STATUS
  0 to 255  that of TEXT
  1         --cwd cannot be entered
  2         --env has a name that no variable can have
  124       the timeout
  125       the shell is not ready, or has ended
  126       refused
  127       the session allows no shells
`

// session runs a word of hostexec session.
func session(ctx context.Context, c *call.VerbCall, args []string) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		return c.Print([]byte(sessionUsage))
	}
	shells, ok := c.Shells()
	if !ok {
		return c.Fail(call.UsageError("shells are not available here"))
	}
	f := newFlags("session " + args[0])
	f.help, f.hint = sessionUsage, sessionHint
	switch words := args[1:]; args[0] {
	case "create":
		return createShell(ctx, c, shells, f, words)
	case "exec", "start":
		return runText(ctx, c, shells, f, words, args[0] == "start")
	case "ls":
		return listShells(c, shells, f, words)
	case "rm":
		return removeShell(c, shells, f, words)
	}
	hint := sessionHint
	if near := names.Near(args[0], sessionVerbs); near != "" {
		hint = "did you mean hostexec session " + near + "? " + hint
	}
	return c.Fail(call.Failure{Status: call.StatusFailed, Reason: "session: unknown verb: " + names.Quoted(args[0]), Hint: hint})
}

const sessionHint = "see hostexec session --help"

// sessionVerbs are the words after hostexec session.
var sessionVerbs = []string{"create", "exec", "start", "ls", "rm"}

// createShell makes a shell.
func createShell(ctx context.Context, c *call.VerbCall, shells call.Shells, f *flagSet, words []string) error {
	var r call.ShellRequest
	f.StringArrayVar(&r.Env, "env", nil, "")
	f.StringVar(&r.Dir, "cwd", "", "")
	f.StringVar(&r.In, "in", "", "")
	if ok, err := f.parse(c, words); !ok {
		return err
	}
	if f.NArg() != 1 {
		return f.failArguments(c, "wants the name of one shell")
	}
	r.Name = f.Arg(0)
	if f.Changed("in") && !names.Container.Matches(r.In) {
		return f.fail(c, "--in: "+names.Printable(call.Truncate(r.In))+" cannot be the name of a container")
	}
	if err := shell.CheckEnv(r.Env); err != nil {
		return c.Fail(envFailure(err))
	}
	return shells.Create(ctx, r)
}

// runText runs a text in a shell, or starts it in a copy of the shell. The text stands behind --, where
// nothing is a flag.
func runText(ctx context.Context, c *call.VerbCall, shells call.Shells, f *flagSet, words []string, start bool) error {
	r := call.ShellRequest{Start: start}
	f.StringArrayVar(&r.Env, "env", nil, "")
	f.StringVar(&r.Dir, "cwd", "", "")
	timeout := f.String("timeout", "", "")
	f.BoolVar(&r.JSON, "json", false, "")
	if ok, err := f.parse(c, words); !ok {
		return err
	}
	dash := f.ArgsLenAtDash()
	if dash >= 0 {
		r.Text = strings.Join(f.Args()[dash:], " ")
	}
	c.ReportText(r)
	switch {
	case dash != 1 && (dash >= 0 || f.NArg() != 1):
		return f.failArguments(c, "wants the name of one shell, -- and a text")
	case dash < 0 || f.NArg() < 2:
		return f.failArguments(c, "wants -- and a text after the name")
	}
	r.Name = f.Arg(0)
	if f.Changed("timeout") {
		var err error
		if r.Timeout, err = call.ParseTimeout(*timeout); err != nil {
			return f.fail(c, fmt.Sprintf("--timeout: %v: %s", err, names.Printable(call.Truncate(*timeout))))
		}
	}
	if err := shell.CheckEnv(r.Env); err != nil {
		return c.Fail(envFailure(err))
	}
	return shells.Run(ctx, r)
}

// reportSession makes a caller that gives --json to exec or start get a report even if its arguments are wrong, or if
// there are too many calls.
func reportSession(c *call.VerbCall, words []string) {
	if len(words) == 0 || words[0] != "exec" && words[0] != "start" {
		return
	}
	r := call.ShellRequest{Start: words[0] == "start"}
	if dash := slices.Index(words, "--"); dash >= 0 {
		r.Text, words = strings.Join(words[dash+1:], " "), words[:dash]
	}
	r.JSON = slices.Contains(words, "--json")
	c.ReportText(r)
}

// envFailure is the failure to set a variable of a shell. It has the exit code of bash.
func envFailure(err error) call.Failure {
	f := call.Failure{Status: call.StatusFailed, Reason: err.Error(), Hint: sessionHint}
	var bad *shell.EnvNameError
	if errors.As(err, &bad) {
		f.Code, f.Line = 2, call.MessageLine("%s", err)
	}
	return f
}

// removeShell ends a shell. A missing shell is no error, because the caller has the wanted result.
func removeShell(c *call.VerbCall, shells call.Shells, f *flagSet, words []string) error {
	if ok, err := f.parse(c, words); !ok {
		return err
	}
	if f.NArg() != 1 {
		return f.failArguments(c, "wants the name of one shell")
	}
	shells.Remove(f.Arg(0))
	return c.Print(nil)
}

// listShells lists the shells that the caller may use.
func listShells(c *call.VerbCall, shells call.Shells, f *flagSet, words []string) error {
	asJSON := f.Bool("json", false, "")
	if ok, err := f.parse(c, words); !ok {
		return err
	}
	if f.NArg() > 0 {
		return f.failArguments(c, "takes no name")
	}
	if *asJSON {
		return printJSON(c, shells.List())
	}
	return c.Print(renderShells(shells.List()))
}

func renderShells(all []shell.Info) []byte {
	var b bytes.Buffer
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, pid, state, time.Since(i.Since).Round(time.Second), names.Printable(i.Directory()))
	}
	w.Flush()
	return b.Bytes()
}
