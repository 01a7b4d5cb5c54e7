// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

const sessionUsage = `Usage: hostexec session COMMAND

Shells on the host whose directory, variables and functions stay from command to command.
The host has to allow them: docker hostexec run --proxy-shell, or rules for "shell".

  create [--env K=V]... [--cwd DIR] NAME   make a shell
  exec   [options] NAME -- TEXT...         run TEXT in it; what TEXT changes stays
  start  [options] NAME -- TEXT...         run TEXT in a copy of it, which holds it up for nobody
  ls     [--json]                          list the shells
  rm     NAME                              end a shell and all that it runs

TEXT is bash; more than one word is joined by spaces, as ssh does. It reads /dev/null. Exec
is ended by ^C or a timeout, start by these or docker hostexec.

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
func (s *Server) session(ctx context.Context, p *peer, req *request, args []string) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		return s.print(p, req, done, []byte(sessionUsage))
	}
	if s.Shells == nil {
		return p.end(misused("shells are not available here"))
	}
	word := args[0]
	o, err := parseSession(word, args[1:])
	var bad *shell.EnvNameError
	switch {
	case errors.As(err, &bad):
		return p.exit(wire.Exit{Outcome: wire.Exited, Code: 2, Text: line("%s", err)})
	case err != nil:
		return p.end(end{status: statusFailed, reason: err.Error(), hint: "see hostexec session --help"})
	}
	switch word {
	case "create":
		return s.createShell(p, req, o)
	case "ls":
		return s.print(p, req, done, renderShells(s.Shells.List(), o.json))
	case "rm":
		s.Shells.Remove(o.name) // again and again: what is wanted is that there is none
		return s.print(p, req, done, nil)
	}
	return s.inShell(ctx, p, req, o, word == "start")
}

// createShell makes a shell, if the policy has any use for one. Each of its commands is
// decided for itself, and so is what it is created with.
func (s *Server) createShell(p *peer, req *request, o sessionOptions) error {
	sc := s.now()
	req.Args = append([]string{policy.Shell}, shell.Command{Text: ":"}.Words(o.env)...)
	req.shell = &shellCall{name: o.name}
	if v := sc.Policy.Decide(req.Request); v.Action == policy.Deny && len(sc.Policy.Rules[policy.Shell].Rules) == 0 {
		return p.end(refusal(sc, req, v))
	}
	if _, ok := sc.bash(); !ok {
		return p.end(end{status: statusNotFound, name: policy.Shell, reason: "no bash on the host", hint: "shells with state are bash: install it there"})
	}
	err := s.Shells.Create(o.name, shell.Options{Env: o.env, Dir: s.shellDir(sc, req, o.dir)})
	if err != nil {
		return p.end(end{status: statusFailed, name: o.shown(), reason: err.Error(), hint: "hostexec session ls"})
	}
	return s.print(p, req, done, nil)
}

// bash is the program that shells are.
func (sc *Scene) bash() (string, bool) {
	if c, ok := sc.Policy.Lookup(policy.Shell); ok && c.Path != "" {
		return c.Path, true
	}
	if path := sc.Policy.Rules[policy.Shell].Exec; path != "" {
		return path, true
	}
	if sc.Find == nil {
		return "", false
	}
	return sc.Find("bash")
}

// shellDir is where a shell starts: dir as the caller sees it, or else as the host does; the
// caller's own directory if it says none. A shell that finds nothing there starts in HOME.
func (s *Server) shellDir(sc *Scene, req *request, dir string) string {
	want := dir
	if want == "" {
		want = req.Cwd
	}
	if d, err := sc.Dirs.Open(want); err == nil {
		defer d.Close()
		return d.Path()
	}
	return dir
}

func renderShells(all []shell.Info, asJSON bool) []byte {
	var b bytes.Buffer
	if asJSON {
		out := json.NewEncoder(&b)
		out.SetIndent("", "  ")
		out.Encode(all) // strings and numbers always marshal
		return b.Bytes()
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, pid, state, time.Since(i.Since).Round(time.Second), quoted(i.Dir))
	}
	w.Flush()
	return b.Bytes()
}
