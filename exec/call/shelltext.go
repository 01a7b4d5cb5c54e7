// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// shellCall is a request that is a command for a shell.
type shellCall struct {
	name  string
	shell *shell.Shell
	tty   bool // its caller's stderr is a terminal
}

// open holds the directory where a request runs: a shell stands where it stands.
func (r *request) open(t *mount.Table) (*dir.Dir, error) {
	if r.shell == nil {
		return t.Open(r.Cwd)
	}
	at := r.shell.shell.At()
	if r.shell.shell.In() != "" {
		at = "/" // nothing of the host's has to do with it
	}
	for _, at := range []string{at, os.Getenv("HOME")} {
		d, err := dir.Open(at)
		if err != nil {
			continue
		}
		if _, err := os.Stat("/proc/self/fd/" + strconv.Itoa(d.FD()) + "/."); err == nil { // it can be entered
			return d, nil
		}
		d.Close()
	}
	return dir.Open("/")
}

// at is where it runs, for people.
func (w *authorizedCall) at(req *request) string {
	if req.shell != nil && req.shell.shell.In() != "" {
		return req.shell.shell.Place()
	}
	return w.cwd.Path()
}

// inShell has a command for a shell decided like any other, and runs it there.
func (s *Server) inShell(ctx context.Context, p *peer, req *request, o ShellRequest) error {
	sh, err := s.Shells.Find(o.Name)
	if err != nil {
		return p.end(Failure{Status: StatusFailed, Name: o.shown(), Reason: err.Error(), Hint: "hostexec session create " + quoteWord(o.Name)})
	}
	if err := req.setDeadline(); err != nil {
		return p.end(UsageError(err.Error()))
	}
	within, cancel := req.within(ctx, p)
	defer cancel()
	if in, err := s.enter(within, p, req, limit.Calls); !in {
		return err
	}
	c := shell.Command{Text: o.Text, Env: o.Env, Dir: o.Dir}
	if o.Dir != "" && path.IsAbs(o.Dir) && sh.In() == "" {
		c.Dir = exact(s.now(), o.Dir)
	}
	req.Args = append([]string{policy.Shell}, sh.Options().Args(c)...)
	req.shell = &shellCall{o.Name, sh, req.fds[2] == wire.FDTTY}
	for i := range req.fds {
		req.drop(i) // nothing of the caller's goes to the shell
	}
	w, err := s.admit(within, p, req)
	if w == nil {
		return err
	}
	defer w.close()
	if c, err = sh.Options().ParseArgs(w.v.Args[1:]); err != nil { // a rule has put others in their place
		return errors.Join(s.deny(ctx, w, req, err.Error()), p.end(cannotRun(req, w.v, err)))
	}
	c.ID, c.Exact = req.ID, path.IsAbs(c.Dir) && sh.In() == ""
	c.Timeout, c.TimeoutErr = timeLimit(w.v.Timeout, o.Timeout)
	if err := w.noteStart(req); err != nil {
		return fail(p, err, unwritten(err))
	}
	s.calls.Add(1)
	r := &shellRun{s: s, p: p, req: req, w: w, o: o, c: c, how: sh.Exec, since: time.Now()}
	if o.Start {
		r.how = sh.Start
	}
	e := r.run(within)
	if err := w.note(req, audit.Record{Kind: audit.Complete, Args: w.v.Args, Exit: int(e.Code), Signal: e.Signal, Duration: time.Since(r.since)}); err != nil {
		s.Log.Error("audit", "request", req.ID, "error", err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("request %s: %w", req.ID, cause)
	}
	return p.exit(e)
}

// shellRun is a command for a shell that may run.
type shellRun struct {
	s     *Server
	p     *peer
	req   *request
	w     *authorizedCall
	o     ShellRequest
	c     shell.Command
	how   func(context.Context, shell.StartConfig, shell.Command, shell.Output) (int, error)
	since time.Time
}

// run runs the command, tells of it as the caller wants, and says how the call ends.
func (r *shellRun) run(ctx context.Context) wire.Exit {
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
	defer v.Close()
	streams := executor.Streams{Out: rec.Out(v.Out()), Err: rec.Err(v.Err())}
	if !r.w.v.Profile.Whole {
		capOutput(&streams, r.w.v.Profile.Output)
	}
	began := wire.Started{FDs: [3]wire.Disposition{wire.Null, wire.Pumped, wire.Pumped}, Request: r.req.ID}
	r.p.send(wire.KindStarted, began.Append(nil))
	ctx, stop := r.p.interruptible(ctx)
	defer stop()
	defer r.s.running.drop(r.req.ID)
	birth := shell.StartConfig{Path: r.w.v.Command.Path, Env: r.w.env, NewPrivs: r.w.state.NewPrivs || r.w.v.NewPrivs, Dir: r.w.cwd.FD()}
	var full error
	code, err := r.how(ctx, birth, r.c, shell.Output{Out: streams.Out, Err: streams.Err, Waits: r.reportBusy, Full: func(err error) { full = err }, Started: func(request string, pid int) {
		r.running(pid, kill)
		v.Started(request, pid)
	}})
	e, why := r.exit(code, err)
	if full == nil && code != 0 && r.req.shell.shell.In() == "" { // a quota shows by a write alone
		full = r.s.Shells.CheckSpace()
	}
	if lost := fullDisk(full); err == nil && lost != "" {
		e.Text = outputMissing(lost)
	}
	v.Ended(int(e.Code), why)
	return e
}

// reportBusy tells who sits at a terminal why nothing happens.
func (r *shellRun) reportBusy() {
	if r.req.shell.tty {
		io.WriteString(r.p.writer(wire.KindStderr), Line("%s", shell.Busy(r.o.Name)))
	}
}

// timeLimit is how long a text may take, as the policy or its caller wants, and what it fails
// with then, as shell.Command has it.
func timeLimit(policys, callers time.Duration) (time.Duration, error) {
	if policys > 0 && (callers == 0 || policys < callers) {
		return policys, errTooLong
	}
	return callers, nil
}

// running notes that the command runs. A pid of a container's is none of the host's.
func (r *shellRun) running(pid int, kill context.CancelCauseFunc) {
	if r.req.shell.shell.In() != "" {
		pid = 0
	}
	r.s.running.set(r.req.running(r.w.at(r.req), pid), kill)
}

// exit returns how a call ends, from the end of its command, and the reason if the command did not
// end by itself.
func (r *shellRun) exit(code int, err error) (e wire.Exit, why string) {
	var by *interrupted
	switch {
	case err == nil:
		return wire.Exit{Outcome: wire.Exited, Code: byte(code)}, ""
	case errors.Is(err, errKilled):
		return (&interrupted{"TERM"}).exit(), err.Error()
	case errors.As(err, &by):
		return by.exit(), by.Error()
	}
	cut := r.endReason(err)
	return cut.frame(r.p.json), cut.Reason
}

// endReason returns the reason why a command was ended before its end.
func (r *shellRun) endReason(err error) Failure {
	var dead *shell.TerminatedError
	var over *shell.TimeoutError
	var none *shell.ContainerError
	var limited *limit.Error
	e := Failure{Status: StatusFailed, Name: r.o.shown(), Rule: r.w.v.Rule, Request: r.req.ID}
	switch {
	case errors.As(err, &limited):
		e = endedByLimit(r.req, r.w.v, limited)
	case errors.Is(err, errTooLong):
		e = tooLong(r.req, r.w.v)
	case errors.Is(err, errCallerDeadline):
		e = callerDeadlineExceeded(r.req, r.w.v.Rule)
	case errors.Is(err, errFull):
		e = outputLimitExceeded(r.req, r.w.v)
	case errors.As(err, &over):
		e.Status, e.Reason = StatusTimeout, err.Error()
	case errors.As(err, &dead):
		e.Status, e.Reason, e.Hint = StatusTerminated, err.Error(), "the next command starts a fresh one"
	case errors.As(err, &none):
		e.Reason, e.Hint = names.Plain(err.Error()), "docs/shells.md says what a container needs"
	case errors.Is(err, shell.ErrNotReady):
		e.Reason, e.Hint = err.Error(), "hostexec session create "+quoteWord(r.o.Name)
	default:
		e.Reason, e.Hint = names.Plain(err.Error()), logsHint
	}
	return e
}
