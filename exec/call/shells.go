// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"context"
	"path"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// ShellRequest is what a caller asks of a shell.
type ShellRequest struct {
	Name    string
	Env     []string // of the shell, or of the text
	Dir     string
	In      string // a container; for a shell that is created
	Text    string // to run; Start runs it in a copy of the shell
	Start   bool
	Timeout time.Duration
	JSON    bool // the answer is for programs
}

// shown is the name of the shell, for texts.
func (r *ShellRequest) shown() string { return "session " + quoteWord(r.Name) }

// Shells are the shells of a session, as far as one caller may use them.
type Shells struct{ c *Call }

// Shells reports whether the session has shells, and returns them.
func (c *Call) Shells() (Shells, bool) { return Shells{c}, c.s.Shells != nil }

// List returns the shells that the caller may use.
func (s Shells) List() []shell.Info {
	sc := s.c.s.now()
	return slices.DeleteFunc(s.c.s.Shells.List(), func(i shell.Info) bool { return !usable(sc, s.c.req, i.In) })
}

// Remove ends the shell with that name, if there is one and the caller may use it.
func (s Shells) Remove(name string) {
	if sh, err := s.c.s.Shells.Find(name); err == nil && usable(s.c.s.now(), s.c.req, sh.In()) {
		s.c.s.Shells.Remove(name)
	}
}

// Create makes a shell, if the caller may. It answers the call.
func (s Shells) Create(ctx context.Context, r ShellRequest) error {
	return s.c.s.createShell(ctx, s.c.p, s.c.req, r)
}

// Run has a text decided, and runs it in its shell. It answers the call.
func (s Shells) Run(ctx context.Context, r ShellRequest) error {
	return s.c.s.inShell(ctx, s.c.p, s.c.req, r)
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
func (s *Server) createShell(ctx context.Context, p *peer, req *request, o ShellRequest) error {
	sc := s.now()
	if o.Dir != "" && o.In == "" && !path.IsAbs(o.Dir) {
		o.Dir = path.Join(req.Cwd, o.Dir)
	}
	opts := shell.Options{Env: o.Env, Dir: o.Dir, Foreign: true, DirInArgs: true}
	if o.In != "" {
		// Whether there is such a container is only for those to know who may use it.
		if !sc.Policy.PermitsShellIn(o.In) {
			return p.end(unreachable(o))
		}
		var err error
		if opts.In, err = sc.inside(ctx, o.In); err != nil {
			return p.end(Failure{Status: StatusFailed, Name: o.shown(), Reason: names.Plain(err.Error()), Hint: "docker ps on the host shows what runs"})
		}
	} else if e, ok := s.hostable(sc, req, o); !ok {
		return p.end(e)
	} else {
		if _, ok := mounted(sc, req.Cwd); !ok && o.Dir == "" {
			e := workdirMismatch(sc, req, mount.ErrMismatch)
			e.Name, e.Hint = o.shown(), "--cwd DIR says where the shell starts, or "+e.Hint
			return p.end(e)
		}
		opts = startAt(sc, req, opts)
		usual, ok := mounted(sc, cmp.Or(sc.Home, "/"))
		opts.Usual = ok && o.Dir == "" && opts.Dir == usual
	}
	if err := s.Shells.Create(o.Name, opts); err != nil {
		return p.end(Failure{Status: StatusFailed, Name: o.shown(), Reason: err.Error(), Hint: "hostexec session ls"})
	}
	return s.print(p, req, wire.Exit{Outcome: wire.Exited}, nil)
}

// hostable reports whether there may be a shell on the host, and what to say if not.
func (s *Server) hostable(sc *SessionState, req *request, o ShellRequest) (Failure, bool) {
	opts := startAt(sc, req, shell.Options{Env: o.Env, Dir: o.Dir, DirInArgs: true})
	if v, ok := hostShell(sc, req, opts); !ok {
		req.Args = append([]string{policy.Shell}, opts.Args(shell.Command{Text: ":"})...)
		req.shell = &shellCall{name: o.Name}
		return refusal(sc, req, v, s.verbNames()), false
	}
	if _, ok := sc.bash(); !ok {
		return Failure{Status: StatusNotFound, Name: policy.Shell, Reason: "no bash on the host", Hint: "shells with state are bash: install it there"}, false
	}
	return Failure{}, true
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
