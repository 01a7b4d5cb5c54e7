// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"errors"
	"syscall"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/git"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/recording"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// run runs w with the given streams, and reports whether it was started. The error is errKilled if a person
// has ended it; st is then valid, too.
func (x *exchange) run(ctx context.Context, streams executor.Streams, w *decidedCall) (st executor.Status, ran bool, err error) {
	if w.v.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.v.Timeout, errTooLong)
		defer cancel()
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	if w.turn == nil && overlap(w.state.Policy, x.req.Args[0], &w.v) == git.Changes { // a person was asked
		if w.turn, err = x.server.turns.take(ctx, git.Changes); err != nil {
			return st, false, err
		}
	}
	rec, err := w.recording(x.req)
	if err != nil {
		return st, false, err
	}
	defer func() {
		if err := rec.Close(); err != nil {
			x.server.Log.Error("store the recording", "request", x.req.ID, "error", err)
		}
	}()
	m := w.limitStreams(&streams, x.req, rec)
	defer x.server.running.drop(x.req.ID)
	x.server.running.set(x.req.running(w.cwd.Path(), 0), kill) // a file system may hold up its exec
	started := streams.Started
	streams.Started = func(pid int) {
		ran = true
		x.noteStarted(w, pid, kill)
		started(pid)
	}
	st, err = w.runner.Run(ctx, w.command(x.req), streams)
	w.endTurn()
	w.copies.remove() // before the caller gets its answer, so that its next call can use the same names
	switch {
	case err == nil && m != nil && m.full.Load():
		err = errOutputLimit
	case !ran && errors.Is(err, errKilled):
		st.Code, st.Signal = 128+int(syscall.SIGTERM), "TERM"
	}
	return st, ran, err
}

// noteStarted registers the process pid of w, and releases what only its start needed.
func (x *exchange) noteStarted(w *decidedCall, pid int, kill context.CancelCauseFunc) {
	w.env = nil
	x.server.running.set(x.req.running(w.cwd.Path(), pid), kill)
	if !w.v.LeaveProcesses {
		x.server.left.add(x.req.ID, x.server.running.list)
	}
	w.cwd.Close() // it is the command's working directory now
}

// limitStreams removes from s what the Streams of the verdict do not allow, and adds the recording. The counter reports
// whether the output was cut; it is nil if output is not limited.
func (w *decidedCall) limitStreams(s *executor.Streams, req *request, rec *recording.Recording) (m *outputCounter) {
	s.Out, s.Err = rec.Out(s.Out), rec.Err(s.Err)
	if !w.v.Streams.Whole {
		m = capOutput(s, w.v.Streams.Output)
	}
	if req.captured != nil {
		s.In = capturedInput{bytes.NewReader(req.captured)}
	}
	return m
}

// recording starts the recording of w, if the verdict demands one. Otherwise it returns nil.
func (w *decidedCall) recording(req *request) (*recording.Recording, error) {
	if !w.v.Record {
		return nil, nil
	}
	return recording.Create(w.state.Recordings, req.ID, recording.Header{
		Width: int(req.winsize.Cols), Height: int(req.winsize.Rows), Command: names.Printable(shellescape.QuoteCommand(w.v.Args)),
	})
}

// command returns the command for req.
func (w *decidedCall) command(req *request) executor.Command {
	return executor.Command{
		ID:             req.ID,
		Path:           w.v.Command.Path,
		Args:           w.v.Args,
		Env:            w.env,
		Dir:            w.cwd.FD(),
		NewPrivs:       w.state.NewPrivs || w.v.NewPrivs,
		LeaveProcesses: w.v.LeaveProcesses,
		Sandbox:        w.sandbox,
	}
}

// ending returns the last frame of a call from its command's status and error.
func ending(asJSON bool, req *request, v *policy.Verdict, st executor.Status, err error) wire.Exit {
	var e Failure
	var limited *limit.Error
	switch {
	case errors.As(err, &limited):
		e = endedByLimit(req, v, limited)
	case errors.Is(err, errTooLong):
		e = tooLong(req, v)
	case errors.Is(err, errCallerDeadline):
		e = callerDeadlineExceeded(req, v.Rule)
	case errors.Is(err, errOutputLimit):
		e = outputLimitExceeded(req, v)
	case err != nil:
		e = notRun(req, v, err)
	case st.Signal != "":
		return req.explainMissingStdin(wire.Exit{Outcome: wire.Signaled, Code: byte(st.Code), Signal: st.Signal, Consumed: st.Consumed})
	default:
		return req.explainMissingStdin(req.explainMissingTerminal(wire.Exit{Outcome: wire.Exited, Code: byte(st.Code), Consumed: st.Consumed}, v))
	}
	f := e.frame(asJSON)
	f.Consumed = st.Consumed
	return f
}
