// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
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
func (s *Server) session(ctx context.Context, p *peer, req *request, args []string) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		return s.print(p, req, done, []byte(sessionUsage))
	}
	if s.Shells == nil {
		return p.end(usageError("shells are not available here"))
	}
	word := args[0]
	o, err := parseSession(word, args[1:])
	var bad *shell.EnvNameError
	switch {
	case errors.As(err, &bad):
		return p.end(end{status: statusFailed, code: 2, line: line("%s", err), reason: err.Error(), hint: "see hostexec session --help"})
	case err != nil:
		return p.end(end{status: statusFailed, reason: err.Error(), hint: "see hostexec session --help"})
	}
	switch word {
	case "create":
		return s.createShell(ctx, p, req, o)
	case "ls":
		all := slices.DeleteFunc(s.Shells.List(), func(i shell.Info) bool { return !usable(s.now(), req, i.In) })
		return s.print(p, req, done, renderShells(all, o.json))
	case "rm":
		// Again and again: what is wanted is that there is none.
		if sh, err := s.Shells.Find(o.name); err == nil && usable(s.now(), req, sh.In()) {
			s.Shells.Remove(o.name)
		}
		return s.print(p, req, done, nil)
	}
	return s.inShell(ctx, p, req, o, word == "start")
}

// usable reports whether the caller may have anything to do with a shell in a container, or
// on the host: whether it could have made it. What it may not is none of its knowledge.
func usable(sc *SessionState, req *request, in string) bool {
	if in != "" {
		return sc.Policy.PermitsShellIn(in)
	}
	_, ok := hostShell(sc, req, shell.Options{})
	return ok
}

// hostShell decides whether the policy has any use for a shell on the host, created with o.
func hostShell(sc *SessionState, req *request, o shell.Options) (policy.Verdict, bool) {
	asked := req.Request
	asked.Args = append([]string{policy.Shell}, o.Args(shell.Command{Text: ":"})...)
	v := sc.Policy.Decide(asked)
	if v.Action != policy.Deny {
		return v, true
	}
	if c, ok := sc.Policy.Lookup(policy.Shell); sc.Policy.Broken != "" || ok && c.Action == policy.Deny {
		return v, false
	}
	return v, slices.ContainsFunc(sc.Policy.Rules[policy.Shell].Rules, func(r policy.Rule) bool { return r.Do != policy.Deny })
}

// createShell makes a shell, if the policy has any use for one. Each of its commands is
// decided for itself, and so is what it is created with.
func (s *Server) createShell(ctx context.Context, p *peer, req *request, o sessionOptions) error {
	sc := s.now()
	if o.dir != "" && o.in == "" && !path.IsAbs(o.dir) {
		o.dir = path.Join(req.Cwd, o.dir)
	}
	opts := shell.Options{Env: o.env, Dir: o.dir, Foreign: true, DirInArgs: true}
	if o.in != "" {
		// Whether there is such a container is only for those to know who may use it.
		if !sc.Policy.PermitsShellIn(o.in) {
			return p.end(unreachable(o))
		}
		var err error
		if opts.In, err = sc.inside(ctx, o.in); err != nil {
			return p.end(end{status: statusFailed, name: o.shown(), reason: plainText(err.Error()), hint: "docker ps on the host shows what runs"})
		}
	} else if e, ok := s.hostable(sc, req, o); !ok {
		return p.end(e)
	} else {
		if _, ok := mounted(sc, req.Cwd); !ok && o.dir == "" {
			e := workdirMismatch(sc, req, mount.ErrMismatch)
			e.name, e.hint = o.shown(), "--cwd DIR says where the shell starts, or "+e.hint
			return p.end(e)
		}
		opts = startAt(sc, req, opts)
		usual, ok := mounted(sc, cmp.Or(sc.Home, "/"))
		opts.Usual = ok && o.dir == "" && opts.Dir == usual
	}
	if err := s.Shells.Create(o.name, opts); err != nil {
		return p.end(end{status: statusFailed, name: o.shown(), reason: err.Error(), hint: "hostexec session ls"})
	}
	return s.print(p, req, done, nil)
}

// hostable reports whether there may be a shell on the host, and what to say if not.
func (s *Server) hostable(sc *SessionState, req *request, o sessionOptions) (end, bool) {
	opts := startAt(sc, req, shell.Options{Env: o.env, Dir: o.dir, DirInArgs: true})
	if v, ok := hostShell(sc, req, opts); !ok {
		req.Args = append([]string{policy.Shell}, opts.Args(shell.Command{Text: ":"})...)
		req.shell = &shellCall{name: o.name}
		return refusal(sc, req, v), false
	}
	if _, ok := sc.bash(); !ok {
		return end{status: statusNotFound, name: policy.Shell, reason: "no bash on the host", hint: "shells with state are bash: install it there"}, false
	}
	return end{}, true
}

// unreachable answers who wants a shell in a container without having been given it.
func unreachable(o sessionOptions) end {
	return end{status: statusRefused, name: o.shown(), reason: "shells in container " + quoteWord(o.in) + " are not allowed",
		hint: "to allow them, start this container with docker hostexec run --proxy-shell=allow,in=" + quoteWord(o.in) + " on the host"}
}

// inside is Inside, where there is one.
func (sc *SessionState) inside(ctx context.Context, name string) (shell.Container, error) {
	if sc.Inside == nil {
		return nil, errNoContainers
	}
	return sc.Inside(ctx, name)
}

// bash is the program that shells are.
func (sc *SessionState) bash() (string, bool) {
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

// startAt is o with where a shell starts: Dir as the caller sees it, or else as the host does,
// which each command is then told of; the caller's own directory if it says none. A shell that
// finds nothing there starts in HOME.
func startAt(sc *SessionState, req *request, o shell.Options) shell.Options {
	find, at := named, o.Dir
	if at == "" {
		find, at = mounted, req.Cwd
	}
	if d, ok := find(sc, at); ok {
		o.Dir, o.DirInArgs = d, false
	}
	return o
}

// mounted returns what the host calls the caller's directory dir, if that is mounted from there.
func mounted(sc *SessionState, dir string) (string, bool) {
	d, err := sc.Dirs.Open(dir)
	if err != nil {
		return "", false
	}
	defer d.Close()
	return d.Path(), true
}

// named is mounted for a directory that the caller names with --cwd. With --workdir-host one directory
// stands for all of the container's: then the name is taken for a directory of the host.
func named(sc *SessionState, name string) (string, bool) {
	if d := sc.Dirs.Default(); d.All && path.Clean(name) != d.Target {
		return "", false
	}
	return mounted(sc, name)
}

// exact returns the directory of the host for the absolute name, the container's if it is mounted,
// without links. It is what is shown and decided: a text runs there or not at all.
func exact(sc *SessionState, name string) string {
	if d, ok := named(sc, name); ok {
		return d
	}
	if d, err := dir.Open(name); err == nil {
		defer d.Close()
		return d.Path()
	}
	return path.Clean(name)
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, pid, state, time.Since(i.Since).Round(time.Second), quoted(i.Place()))
	}
	w.Flush()
	return b.Bytes()
}
