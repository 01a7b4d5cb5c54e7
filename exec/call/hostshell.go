// SPDX-License-Identifier: Apache-2.0

package call

import (
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
	path, ok := sc.bash()
	if !ok {
		return 0, &fs.PathError{Op: "find", Path: "bash", Err: fs.ErrNotExist}
	}
	c.ID = newID()
	note := func(r audit.Record) error {
		r.Request, r.Rule, r.Args = c.ID, byHost, append([]string{policy.Shell}, c.Words(sh.Env())...)
		return sc.Audit.Write(r)
	}
	at := sh.At()
	if at == "" {
		at = os.Getenv("HOME")
	}
	if err := note(audit.Record{Kind: audit.Approve, By: by}); err != nil {
		return 0, err
	}
	if err := note(audit.Record{Kind: audit.Start, Path: path, Dir: at, Approved: true}); err != nil {
		return 0, err
	}
	s.calls.Add(1)
	since := time.Now()
	how := sh.Exec
	if start {
		how = sh.Start
	}
	code, err := how(ctx, shell.Birth{Path: path, Env: environ(s.Environ, nil, nil, policy.Env{}, at), NewPrivs: sc.NewPrivs}, c, o)
	var dead *shell.TerminatedError
	if errors.As(err, &dead) {
		code = dead.Code
	}
	return code, errors.Join(err, note(audit.Record{Kind: audit.Complete, Exit: code, Took: time.Since(since)}))
}

// CreateShell makes a shell for the person at the host, whatever the policy lets the
// container do with it.
func (s *Server) CreateShell(name string, o shell.Options) error {
	if o.Dir != "" {
		d, err := dir.Hold(o.Dir)
		if err != nil {
			return err
		}
		d.Close()
	}
	return s.Shells.Create(name, o)
}
