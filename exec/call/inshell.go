// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// shellCall is a request that is a command for a shell.
type shellCall struct {
	name  string
	shell *shell.Shell
}

// open holds the directory where a request runs: a shell stands where it stands.
func (r *request) open(t *dir.Table) (*dir.Dir, error) {
	if r.shell == nil {
		return t.Open(r.Cwd)
	}
	for _, at := range []string{r.shell.shell.At(), os.Getenv("HOME")} {
		if d, err := dir.Hold(at); err == nil {
			return d, nil
		}
	}
	return dir.Hold("/")
}

// timeoutError is that a command took longer than its caller gave it.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("Command timeout after %dms", e.after.Milliseconds())
}

// inShell has a command for a shell decided like any other, and runs it there.
func (s *Server) inShell(ctx context.Context, p *peer, req *request, o sessionOptions, start bool) error {
	sh, err := s.Shells.Find(o.name)
	if err != nil {
		return p.end(end{status: statusFailed, name: o.shown(), reason: err.Error(), hint: "hostexec session create " + word(o.name)})
	}
	if err := req.setDeadline(); err != nil {
		return p.end(misused(err.Error()))
	}
	if o.timeout == 0 {
		o.timeout = req.limit // HOSTEXEC_TIMEOUT
	}
	c := shell.Command{Text: o.text, Env: o.env, Dir: o.dir}
	if o.dir != "" && path.IsAbs(o.dir) {
		c.Dir = s.shellDir(s.now(), req, o.dir)
	}
	req.Args = append([]string{policy.Shell}, c.Words(sh.Env())...)
	req.shell = &shellCall{o.name, sh}
	for i := range req.fds {
		req.drop(i) // nothing of the caller's goes to the shell
	}
	w, err := s.admit(ctx, p, req)
	if w == nil {
		return err
	}
	defer w.close()
	if c, _, err = shell.ParseWords(w.v.Args[1:]); err != nil { // a rule has put words before it
		return errors.Join(w.note(req, audit.Record{Kind: audit.Deny, Reason: err.Error()}), p.end(unfit(req, w.v, err)))
	}
	c.ID = req.ID
	if err := w.noteStart(req); err != nil {
		return fail(p, err, unwritten)
	}
	s.calls.Add(1)
	r := &shellRun{s: s, p: p, req: req, w: w, o: o, c: c, starts: start, how: sh.Exec, since: time.Now()}
	if start {
		r.how = sh.Start
	}
	e := r.run(ctx)
	if err := w.note(req, audit.Record{Kind: audit.Complete, Args: w.v.Args, Exit: int(e.Code), Signal: e.Signal, Took: time.Since(r.since)}); err != nil {
		s.Log.Error("audit", "request", req.ID, "error", err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("request %s: %w", req.ID, cause)
	}
	return p.exit(e)
}

// shellRun is a command for a shell that may run.
type shellRun struct {
	s      *Server
	p      *peer
	req    *request
	w      *warrant
	o      sessionOptions
	c      shell.Command
	starts bool // in a copy of the shell
	how    func(context.Context, shell.Birth, shell.Command, shell.Output) (int, error)
	since  time.Time
}

// run runs the command, tells of it as the caller wants, and says how the call ends.
func (r *shellRun) run(ctx context.Context) wire.Exit {
	for _, t := range []struct {
		after time.Duration
		cause error
	}{{r.w.v.Timeout, errTooLong}, {r.o.timeout, &timeoutError{r.o.timeout}}} {
		if t.after > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, t.after, t.cause)
			defer cancel()
		}
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	rec, err := r.w.recording(r.req)
	if err != nil {
		return notRun(r.req, r.w.v, err).frame(r.p.json)
	}
	defer rec.Close()
	v, err := r.view()
	if err != nil {
		return notRun(r.req, r.w.v, err).frame(r.p.json)
	}
	defer v.close()
	streams := executor.Streams{Out: rec.Out(v.out()), Err: rec.Err(v.err())}
	if !r.w.v.Profile.Whole {
		limit(&streams, r.w.v.Profile.Output)
	}
	began := wire.Started{FDs: [3]wire.Disposition{wire.Null, wire.Pumped, wire.Pumped}, Request: r.req.ID}
	r.p.send(wire.KindStarted, began.Append(nil))
	defer r.s.running.drop(r.req.ID)
	birth := shell.Birth{Path: r.w.v.Command.Path, Env: r.w.env, NewPrivs: r.w.sc.NewPrivs || r.w.v.NewPrivs}
	code, err := r.how(ctx, birth, r.c, shell.Output{Out: streams.Out, Err: streams.Err, Started: func(pid int) {
		r.s.running.set(r.req, r.w.cwd.Path(), pid, kill)
		v.started(pid)
	}})
	if err == nil {
		v.ended(code)
	}
	return r.exit(code, err)
}

// exit says how a call ends by how its command did.
func (r *shellRun) exit(code int, err error) wire.Exit {
	var dead *shell.TerminatedError
	var late *timeoutError
	e := end{status: statusFailed, name: r.o.shown(), rule: r.w.v.Rule, request: r.req.ID}
	switch {
	case err == nil:
		return wire.Exit{Outcome: wire.Exited, Code: byte(code)}
	case errors.Is(err, errKilled):
		return wire.Exit{Outcome: wire.Signaled, Code: 128 + 15, Signal: "TERM"}
	case errors.Is(err, errTooLong):
		e = tooLong(r.req, r.w.v)
	case errors.Is(err, errFull):
		e = cutShort(r.req, r.w.v)
	case errors.As(err, &late):
		e.status, e.reason = statusTimeout, err.Error()
	case errors.As(err, &dead):
		e.status, e.reason, e.hint = statusTerminated, err.Error(), "the next command starts a fresh one"
	case errors.Is(err, shell.ErrNotReady):
		e.reason, e.hint = err.Error(), "hostexec session create "+word(r.o.name)
	default:
		e.reason, e.hint = plainText(err.Error()), logsHint
	}
	return e.frame(r.p.json)
}
