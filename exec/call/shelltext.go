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

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/recording"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// shellCall has the shell of a request that is a command for one.
type shellCall struct {
	name  string
	shell *shell.Shell
	tty   bool // its caller's stderr is a terminal
}

// open holds the directory where a request runs. A command for a shell runs where its shell is.
func (r *request) open(t *mount.Table) (*dir.Dir, error) {
	if r.shell == nil {
		return t.Open(r.Cwd)
	}
	at := r.shell.shell.At()
	if r.shell.shell.In() != "" {
		at = "/" // a shell in a container has no directory on the host
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

// directory returns the directory in which dc runs, for people.
func (dc *decidedCall) directory(req *request) string {
	if req.shell != nil && req.shell.shell.In() != "" {
		return req.shell.shell.Directory()
	}
	return dc.cwd.Path()
}

// runText has a text for a shell decided like any other command, and runs it there.
func (x *exchange) runText(ctx context.Context, o ShellRequest) error {
	sh, err := x.server.Shells.Find(o.Name)
	if err != nil {
		return x.peer.end(Failure{Status: StatusFailed, Name: o.shown(), Reason: err.Error(), Hint: "hostexec session create " + quoteWord(o.Name)})
	}
	if err := x.req.setDeadline(); err != nil {
		return x.peer.end(UsageError(err.Error()))
	}
	within, cancel := x.req.within(ctx, x.peer)
	defer cancel()
	if in, err := x.enter(within, limit.Calls); !in {
		return err
	}
	x.setText(sh, o)
	dc, err := x.admit(within)
	if dc == nil {
		return err
	}
	defer dc.close()
	c, err := sh.Options().ParseArgs(dc.v.Args[1:])
	if err != nil { // a rule has replaced the arguments
		return errors.Join(x.deny(ctx, dc, err.Error()), x.peer.end(cannotRun(x.req, &dc.v, err)))
	}
	c.ID, c.Exact, c.Copy = x.req.ID, path.IsAbs(c.Dir) && sh.In() == "", o.Start
	c.Timeout, c.TimeoutErr = timeLimit(dc.v.Timeout, o.Timeout)
	if err := dc.noteStart(x.req); err != nil {
		return fail(x.peer, err, unwritten(err))
	}
	x.server.calls.Add(1)
	r := &shellRun{x: x, dc: dc, o: o, c: c, since: time.Now()}
	answered := func() bool { return false }
	if !o.JSON { // otherwise the shim completes the answer when the time is over: see KindFallback
		answered = x.answerInTime(within, dc.v.Rule)
	}
	e := r.run(within)
	early := answered()
	x.noteComplete(dc, int(e.Code), e.Signal, r.since)
	if early {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("request %s: %w", x.req.ID, cause)
	}
	return x.peer.exit(e)
}

// setText makes the request one for the text o in the shell sh, as the policy sees it.
func (x *exchange) setText(sh *shell.Shell, o ShellRequest) {
	c := shell.Command{Text: o.Text, Env: o.Env, Dir: o.Dir}
	if path.IsAbs(o.Dir) && sh.In() == "" {
		c.Dir = resolveDir(x.server.now(), o.Dir)
	}
	x.req.Args = append([]string{policy.Shell}, sh.Options().Args(c)...)
	x.req.shell = &shellCall{o.Name, sh, x.req.fds[2] == wire.FDTTY}
	for i := range x.req.fds {
		x.req.drop(i) // a shell gets none of the caller's descriptors
	}
}

// shellRun is a text for a shell that may run.
type shellRun struct {
	x     *exchange
	dc    *decidedCall
	o     ShellRequest
	c     shell.Command
	since time.Time
}

// run runs the text, shows its output in the form that the caller wants, and returns the end of the call.
func (r *shellRun) run(ctx context.Context) wire.Exit {
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	defer context.AfterFunc(ctx, r.x.peer.expire)()
	rec, err := r.dc.recording(r.x.req)
	if err != nil {
		return r.x.peer.failed(notRun(r.x.req, &r.dc.v, err))
	}
	defer rec.Close()
	v, err := r.view()
	if err != nil {
		return r.x.peer.failed(notRun(r.x.req, &r.dc.v, err))
	}
	defer v.Close()
	if r.o.JSON { // v has the report
		r.x.peer.notRun = nil
	}
	streams := executor.Streams{Out: rec.Tee(recording.Stdout, v.Out()), Err: rec.Tee(recording.Stderr, v.Err())}
	if !r.dc.v.Streams.Whole {
		capOutput(&streams, r.dc.v.Streams.Output)
	}
	began := wire.Started{FDs: [3]wire.Disposition{wire.Null, wire.Copied, wire.Copied}, Request: r.x.req.ID}
	r.x.peer.send(wire.KindStarted, began.Append(nil))
	if b := v.Fallback(); len(b) > 0 {
		r.x.peer.send(wire.KindFallback, b)
	}
	ctx, stop := r.x.peer.interruptible(ctx)
	defer stop()
	defer r.x.server.running.drop(r.x.req.ID)
	start := shell.StartConfig{Path: r.dc.v.Command.Path, Env: r.dc.env, NewPrivs: r.dc.config.NewPrivs || r.dc.v.NewPrivs, Sandbox: r.dc.sandbox, Dir: r.dc.cwd.FD()}
	var full error
	out := shell.Output{Out: streams.Out, Err: streams.Err, Waits: r.reportBusy, Full: func(err error) { full = err }, Ending: r.x.peer.expire}
	out.Started = func(request string, pid int) {
		r.running(pid, kill)
		v.Started(request, pid)
	}
	code, err := r.x.req.shell.shell.Run(ctx, start, r.c, out)
	e, why := r.exit(code, err)
	if full == nil && code != 0 && r.x.req.shell.shell.In() == "" { // a quota shows by a write alone
		full = r.x.server.Shells.CheckSpace()
	}
	if lost := r.x.server.outputMissing(r.x.req.ID, full); err == nil && lost != "" {
		e.Text = lost
	}
	v.Ended(int(e.Code), why)
	if cause := context.Cause(ctx); err == nil && cause != nil { // the caller may not have got all of it
		e, _ = r.exit(0, cause)
	}
	return e
}

// outputMissing returns a warning for the caller if err means that the disk was full, so that output was not written.
// It also logs the warning. For other errors, and for nil, it returns "".
func (s *Server) outputMissing(request string, err error) string {
	lost := fullDisk(err)
	if lost == "" {
		return ""
	}
	s.Log.Warn("output may be missing", "request", request, "error", err)
	return MessageLine("warning: output may be missing%s", lost)
}

// reportBusy tells a caller at a terminal that it waits for its turn.
func (r *shellRun) reportBusy() {
	if r.x.req.shell.tty {
		io.WriteString(r.x.peer.writer(wire.KindStderr), MessageLine("%s", shell.BusyMessage(r.o.Name)))
	}
}

// timeLimit returns the shorter of the limits of the policy and of the caller, and the error that a text
// over that limit fails with.
func timeLimit(policys, callers time.Duration) (time.Duration, error) {
	if policys > 0 && (callers == 0 || policys < callers) {
		return policys, errTooLong
	}
	return callers, nil
}

// running registers the text as running. A pid in a container means nothing on the host.
func (r *shellRun) running(pid int, kill context.CancelCauseFunc) {
	if r.x.req.shell.shell.In() != "" {
		pid = 0
	}
	r.x.server.running.set(r.x.req.running(r.dc.directory(r.x.req), pid), kill)
}

// exit returns the end of a call for the end of its command, and the reason if the command did not end by
// itself.
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
	return cut.frame(r.x.peer.json), cut.Reason
}

// endReason returns the reason why a command was ended before its end.
func (r *shellRun) endReason(err error) Failure {
	if e, ended := endFailure(r.x.req, &r.dc.v, err); ended {
		return e
	}
	var dead *shell.TerminatedError
	var over *shell.TimeoutError
	var none *shell.ContainerError
	e := Failure{Status: StatusFailed, Name: r.o.shown(), Rule: r.dc.v.Rule, Request: r.x.req.ID}
	switch {
	case errors.As(err, &over):
		e.Status, e.Reason = StatusTimeout, err.Error()
	case errors.As(err, &dead) && dead.Removed:
		e.Status, e.Reason, e.Hint = StatusTerminated, err.Error(), "hostexec session create "+quoteWord(r.o.Name)
	case errors.As(err, &dead):
		e.Status, e.Reason, e.Hint = StatusTerminated, err.Error(), "the next command starts a new shell"
	case errors.As(err, &none):
		e.Reason, e.Hint = names.Plain(err.Error()), "docs/shells.md lists what a container needs"
	case errors.Is(err, shell.ErrNoShell):
		e.Reason, e.Hint = err.Error(), "hostexec session create "+quoteWord(r.o.Name)
	case fullDisk(err) != "":
		e.Reason, e.Hint = "the command could not be run"+fullDisk(err), spaceHint
	default:
		e.Reason, e.Hint = names.Plain(err.Error()), logsHint
	}
	return e
}
