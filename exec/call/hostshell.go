// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

// byHost is the rule of what the person at the host runs in a shell: nobody is asked.
const byHost = "docker hostexec shell"

// RunShell runs c in a shell for the person at the host, who is called by. It is written
// down as what that person approved.
func (s *Server) RunShell(ctx context.Context, by, name string, c shell.Command, start bool, o shell.Output) (int, error) {
	sc := s.now()
	if sc == nil {
		return 0, errNoRoom
	}
	sh, err := s.Shells.Find(name)
	if err != nil {
		return 0, err
	}
	if err := shell.CheckEnv(c.Env); err != nil {
		return 0, err
	}
	if err := sh.Planted(); err != nil {
		return 0, err
	}
	birth, err := s.birth(sc, sh)
	if err != nil {
		return 0, err
	}
	c.ID = newID()
	note := func(r audit.Record) error {
		r.Request, r.Rule, r.Args = c.ID, byHost, append([]string{policy.Shell}, sh.Options().Words(c)...)
		return sc.Audit.Write(r)
	}
	if err := note(audit.Record{Kind: audit.Approve, By: by}); err != nil {
		return 0, err
	}
	if err := note(audit.Record{Kind: audit.Start, Path: birth.Path, Dir: sh.Place(), Approved: true}); err != nil {
		return 0, err
	}
	s.calls.Add(1)
	since := time.Now()
	how := sh.Exec
	if start {
		how = sh.Start
	}
	code, err := how(ctx, birth, c, o)
	var dead *shell.TerminatedError
	if errors.As(err, &dead) {
		code = dead.Code
	}
	return code, errors.Join(err, note(audit.Record{Kind: audit.Complete, Exit: code, Took: time.Since(since)}))
}

// birth is what a shell is started with for the person at the host.
func (s *Server) birth(sc *Scene, sh *shell.Shell) (shell.Birth, error) {
	if sh.In() != "" {
		return shell.Birth{Path: "bash", ByHost: true}, nil
	}
	path, ok := sc.bash()
	if !ok {
		return shell.Birth{}, &fs.PathError{Op: "find", Path: "bash", Err: fs.ErrNotExist}
	}
	at := cmp.Or(sh.At(), os.Getenv("HOME"))
	return shell.Birth{Path: path, Env: environ(s.Environ, nil, nil, policy.Env{}, at), NewPrivs: sc.NewPrivs, ByHost: true}, nil
}

// CreateShell makes a shell for the person at the host, whatever the policy lets the
// container do with it.
func (s *Server) CreateShell(name string, o shell.Options) error {
	if o.Dir != "" && o.In == nil {
		d, err := dir.Hold(o.Dir)
		if err != nil {
			return err
		}
		d.Close()
	}
	return s.Shells.Create(name, o)
}
