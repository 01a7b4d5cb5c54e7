// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"context"
	"os"
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

// ShellRequest is a caller's request to a shell.
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
type Shells struct{ c *VerbCall }

// Shells reports whether the session has shells, and returns them.
func (c *VerbCall) Shells() (Shells, bool) { return Shells{c}, c.x.server.Shells != nil }

// List returns the shells that the caller may use.
func (s Shells) List() []shell.Info {
	sc := s.c.x.server.now()
	return slices.DeleteFunc(s.c.x.server.Shells.List(), func(i shell.Info) bool { return !mayUseShell(sc, s.c.x.req, i.In) })
}

// Remove ends the shell with that name, if there is one and the caller may use it.
func (s Shells) Remove(name string) {
	if sh, err := s.c.x.server.Shells.Find(name); err == nil && mayUseShell(s.c.x.server.now(), s.c.x.req, sh.In()) {
		s.c.x.server.Shells.Remove(name)
	}
}

// Create makes a shell, if the caller may. It answers the call.
func (s Shells) Create(ctx context.Context, r ShellRequest) error {
	return s.c.x.createShell(ctx, r)
}

// Run decides a text, and runs it in its shell. It answers the call.
func (s Shells) Run(ctx context.Context, r ShellRequest) error {
	return s.c.x.runText(ctx, r)
}

// mayUseShell reports whether the caller may see and use a shell in the container in, or on the host if in is empty. It
// may if it could have created the shell.
func mayUseShell(sc *SessionConfig, req *request, in string) bool {
	if in != "" {
		return sc.Policy.PermitsShellIn(in)
	}
	_, ok := hostShell(sc, req, shell.Options{})
	return ok
}

// hostShell decides whether the policy allows at least one command in a shell on the host that is created with o.
func hostShell(sc *SessionConfig, req *request, o shell.Options) (policy.Verdict, bool) {
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

// createShell creates a shell, if the policy allows at least one command in it. Each command in it is decided later,
// together with the options of the shell.
func (x *exchange) createShell(ctx context.Context, o ShellRequest) error {
	sc := x.server.now()
	if o.Dir != "" && o.In == "" && !path.IsAbs(o.Dir) {
		o.Dir = path.Join(x.req.Cwd, o.Dir)
	}
	opts := shell.Options{Env: o.Env, Dir: o.Dir, ByContainer: true, DirInArgs: true}
	if o.In != "" {
		// A caller that may not use the container must not learn whether it exists.
		if !sc.Policy.PermitsShellIn(o.In) {
			return x.peer.end(unreachable(o))
		}
		var err error
		if opts.In, err = sc.findContainer(ctx, o.In); err != nil {
			return x.peer.end(Failure{Status: StatusFailed, Name: o.shown(), Reason: names.Plain(err.Error()), Hint: "docker ps on the host lists containers"})
		}
	} else if e, ok := x.mayCreateShell(sc, o); !ok {
		return x.peer.end(e)
	} else {
		if _, ok := mountedDir(sc, x.req.Cwd); !ok && o.Dir == "" {
			e := workdirMismatch(sc, x.req, mount.ErrMismatch)
			e.Name, e.Hint = o.shown(), "start the shell elsewhere with --cwd DIR, or "+e.Hint
			return x.peer.end(e)
		}
		opts = withStartDir(sc, x.req, opts)
		usual, ok := mountedDir(sc, cmp.Or(sc.Workdir, "/"))
		opts.DefaultDir = ok && o.Dir == "" && opts.Dir == usual
	}
	if err := x.server.Shells.Create(o.Name, opts); err != nil {
		return x.peer.end(Failure{Status: StatusFailed, Name: o.shown(), Reason: err.Error(), Hint: "hostexec session ls"})
	}
	return x.print(missingDir(sc, x.req, opts), nil)
}

// missingDir returns the answer to the caller that has made a shell, with a warning if the shell does not find
// its directory. It reports nothing about the host's directories unless the caller may run any text there.
func missingDir(sc *SessionConfig, req *request, o shell.Options) wire.Exit {
	answer := wire.Exit{Outcome: wire.Exited}
	if o.In != nil || o.Dir == "" {
		return answer
	}
	if v, _ := hostShell(sc, req, o); v.Action != policy.Allow {
		return answer
	}
	if fi, err := os.Stat(o.Dir); err != nil || !fi.IsDir() {
		answer.Text = MessageLine("warning: %s is not a directory of the host: the shell starts in HOME", names.Quoted(o.Dir))
	}
	return answer
}

// mayCreateShell reports whether the caller may have a shell on the host, and how to answer if not.
func (x *exchange) mayCreateShell(sc *SessionConfig, o ShellRequest) (Failure, bool) {
	opts := withStartDir(sc, x.req, shell.Options{Env: o.Env, Dir: o.Dir, DirInArgs: true})
	if v, ok := hostShell(sc, x.req, opts); !ok {
		x.req.Args = append([]string{policy.Shell}, opts.Args(shell.Command{Text: ":"})...)
		x.req.shell = &shellCall{name: o.Name}
		return refusal(sc, x.req, &v, x.server.Verbs.Names()), false
	}
	if _, ok := sc.bash(); !ok {
		return Failure{Status: StatusNotFound, Name: policy.Shell, Reason: "no bash on the host", Hint: "shells with state are bash: install it there"}, false
	}
	return Failure{}, true
}

// findContainer calls FindContainer, if there is one.
func (sc *SessionConfig) findContainer(ctx context.Context, name string) (shell.Container, error) {
	if sc.FindContainer == nil {
		return nil, errHostOnly
	}
	return sc.FindContainer(ctx, name)
}

// bash returns the path of the program for shells.
func (sc *SessionConfig) bash() (string, bool) {
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

// withStartDir returns o with the directory where the shell starts. This is the host's path of Dir, or Dir itself,
// which is then an argument of each command. Without Dir it is the caller's directory. A shell starts in HOME if its
// directory does not exist.
func withStartDir(sc *SessionConfig, req *request, o shell.Options) shell.Options {
	find, at := chosenDir, o.Dir
	if at == "" {
		find, at = mountedDir, req.Cwd
	}
	if d, ok := find(sc, at); ok {
		o.Dir, o.DirInArgs = d, false
	}
	return o
}

// mountedDir returns the host's path of the caller's directory dir, if that is mounted from the host.
func mountedDir(sc *SessionConfig, dir string) (string, bool) {
	d, err := sc.Dirs.Open(dir)
	if err != nil {
		return "", false
	}
	defer d.Close()
	return d.Path(), true
}

// chosenDir is mountedDir for a directory that the caller names with --cwd. With --workdir-host, one
// directory stands for all directories of the container; the name is then a path of the host.
func chosenDir(sc *SessionConfig, name string) (string, bool) {
	if d := sc.Dirs.Default(); d.All && path.Clean(name) != d.Target {
		return "", false
	}
	return mountedDir(sc, name)
}

// resolveDir returns the directory of the host for an absolute name, without symbolic links: that of the container's
// mount, if there is one. The policy decides about this path, a person is shown it, and a text runs only there.
func resolveDir(sc *SessionConfig, name string) string {
	if d, ok := chosenDir(sc, name); ok {
		return d
	}
	if d, err := dir.Open(name); err == nil {
		defer d.Close()
		return d.Path()
	}
	return path.Clean(name)
}
