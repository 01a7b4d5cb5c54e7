// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// byHost is recorded as the rule of commands that the person at the host runs in a shell.
const byHost = "docker hostexec shell"

// RunShell runs c in a shell for the person at the host, whose name is by. It is recorded as approved by
// that person.
func (s *Server) RunShell(ctx context.Context, by, name string, c shell.Command, o shell.Output) (int, error) {
	sc := s.now()
	if sc == nil {
		return 0, errNoSession
	}
	sh, err := s.shellForHost(name)
	if err != nil {
		return 0, err
	}
	if err := shell.CheckEnv(c.Env); err != nil {
		return 0, err
	}
	startConfig, err := s.startConfig(ctx, sc, sh)
	if err != nil {
		return 0, err
	}
	defer startConfig.Sandbox.Close()
	c.ID = newID()
	note := func(r audit.Record) error {
		r.Request, r.Rule, r.Args = c.ID, byHost, append([]string{policy.Shell}, sh.Options().Args(c)...)
		return sc.Audit.Write(r)
	}
	if err := note(audit.Record{Kind: audit.Approve, By: by}); err != nil {
		return 0, err
	}
	if err := note(audit.Record{Kind: audit.Start, Path: startConfig.Path, Dir: sh.Directory(), Approved: true}); err != nil {
		return 0, err
	}
	s.calls.Add(1)
	since := time.Now()
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	defer s.running.drop(c.ID)
	o.Full = func(err error) { io.WriteString(o.Err, s.outputMissing(c.ID, err)) }
	code, err := sh.Run(ctx, startConfig, c, s.running.hostText(sh, c, o, kill))
	code, signal := hostExit(code, err)
	if signal != "" {
		err = &shell.KilledError{Code: code, Err: err}
	}
	return code, errors.Join(err, note(audit.Record{Kind: audit.Complete, Exit: code, Signal: signal, Duration: time.Since(since)}))
}

// shellForHost returns the shell called name, if the person at the host may use it.
func (s *Server) shellForHost(name string) (*shell.Shell, error) {
	sh, err := s.Shells.Find(name)
	if err != nil {
		return nil, err
	}
	return sh, sh.CheckUntrusted()
}

// InterruptText ends the text that the person at the host runs for request, whose caller got a signal. It reports whether
// there is such a text, and does not wait. The audit log then has the exit code of the caller.
func (s *Server) InterruptText(request string, by executor.Signal) bool {
	return wire.Fatal(by) != 0 && s.running.interruptText(request, &interrupted{by})
}

// hostText returns o, extended so that it registers c as running: while c waits for its turn without a pid.
func (t *runningCalls) hostText(sh *shell.Shell, c shell.Command, o shell.Output, kill context.CancelCauseFunc) shell.Output {
	r := Running{Request: c.ID, Args: append([]string{policy.Shell}, sh.Options().Args(c)...), Dir: sh.Directory(), ByHost: true}
	queued, started := o.Queued, o.Started
	o.Queued = func(request string) {
		t.set(r, kill)
		if queued != nil {
			queued(request)
		}
	}
	o.Started = func(request string, pid int) {
		if sh.In() == "" { // else pid is a container's
			r.PID = pid
			t.set(r, kill)
		}
		if started != nil {
			started(request, pid)
		}
	}
	return o
}

// hostExit returns the exit code of a text for the audit log, which is its caller's, and the signal that ended it.
func hostExit(code int, err error) (int, string) {
	var late *shell.TimeoutError
	by := &interrupted{"TERM"}
	switch {
	case err == nil:
		return code, ""
	case errors.Is(err, errKilled), errors.As(err, &by):
		return int(by.exit().Code), by.by
	case errors.As(err, &late):
		return wire.CodeTimeout, ""
	}
	return wire.CodeFailed, ""
}

// startConfig returns how a shell is started for the person at the host.
func (s *Server) startConfig(ctx context.Context, sc *SessionConfig, sh *shell.Shell) (shell.StartConfig, error) {
	if sh.In() != "" {
		return shell.StartConfig{Path: "bash", ByHost: true}, nil
	}
	path, ok := sc.bash()
	if !ok {
		return shell.StartConfig{}, &fs.PathError{Op: "find", Path: "bash", Err: fs.ErrNotExist}
	}
	b := shell.StartConfig{Path: path, NewPrivs: sc.NewPrivs, ByHost: true}
	host := sc.hostEnviron
	if place := sc.Policy.Place(policy.Shell); place.Sandboxed {
		v := policy.Verdict{Command: policy.Command{Name: policy.Shell, Path: path}, Place: place, Sandbox: sc.Policy.Rules[policy.Shell].Sandbox, Args: []string{policy.Shell}}
		var err error
		if b.Sandbox, host, err = sc.confine(ctx, &v, nil); err != nil {
			return b, err
		}
	}
	b.Env = environ(host, nil, nil, policy.Env{}, sh.At())
	return b, nil
}

// CreateShell creates a shell for the person at the host, whatever the policy allows the container.
func (s *Server) CreateShell(name string, o shell.Options) error {
	if o.Dir != "" && o.In == nil && !filepath.IsAbs(o.Dir) {
		return fmt.Errorf("--cwd: %s is not absolute", names.Printable(Truncate(o.Dir)))
	}
	return s.Shells.Create(name, o)
}
