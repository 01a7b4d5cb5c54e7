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
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/recording"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// run runs dc with the given streams, and reports whether it was started. The error wraps errKilled if a person, or
// hostexec kill in the container, has ended it; st is then valid, too.
func (x *exchange) run(ctx context.Context, streams executor.Streams, dc *decidedCall) (st executor.Status, ran bool, err error) {
	if dc.v.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, dc.v.Timeout, errTooLong)
		defer cancel()
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	if !x.req.detached { // a job has its own streams
		defer context.AfterFunc(ctx, x.peer.expire)()
	}
	if dc.turn == nil && overlap(dc.config.Policy, x.req.Args[0], &dc.v) == git.Changes { // a person was asked
		if dc.turn, err = x.server.turns.take(ctx, git.Changes); err != nil {
			return st, false, err
		}
	}
	rec, err := dc.recording(x.req)
	if err != nil {
		return st, false, err
	}
	defer func() {
		if err := rec.Close(); err != nil {
			x.server.Log.Error("store the recording", "request", x.req.ID, "error", err)
		}
	}()
	m := dc.limitStreams(&streams, x.req, rec)
	defer x.server.running.drop(x.req.ID)
	x.server.running.set(x.req.running(dc.cwd.Path(), 0), kill) // a file system may hold up its exec
	started := streams.Started
	streams.Started = func(pid int) {
		ran = true
		x.noteStarted(dc, pid, kill)
		started(pid)
	}
	st, err = dc.runner.Run(ctx, dc.command(x.req), streams)
	dc.endTurn()
	dc.copies.remove() // before the caller gets its answer, so that its next call can use the same names
	switch {
	case err == nil && m != nil && m.full.Load():
		err = errOutputLimit
	case !ran && errors.Is(err, errKilled):
		st.Code, st.Signal = 128+int(syscall.SIGTERM), "TERM"
	}
	return st, ran, err
}

// noteStarted registers the process pid of dc, and releases what only its start needed.
func (x *exchange) noteStarted(dc *decidedCall, pid int, kill context.CancelCauseFunc) {
	dc.env = nil
	x.server.running.set(x.req.running(dc.cwd.Path(), pid), kill)
	if !dc.v.LeaveProcesses {
		x.server.left.add(x.req.ID, x.server.running.list)
	}
	dc.cwd.Close() // it is the command's working directory now
}

// limitStreams removes from s what the Streams of the verdict do not allow, and adds the recording. The counter reports
// whether the output was cut; it is nil if output is not limited.
func (dc *decidedCall) limitStreams(s *executor.Streams, req *request, rec *recording.Recording) (m *outputCounter) {
	s.Out, s.Err = rec.Tee(recording.Stdout, s.Out), rec.Tee(recording.Stderr, s.Err)
	if !dc.v.Streams.Whole {
		m = capOutput(s, dc.v.Streams.Output)
	}
	if req.captured != nil {
		s.In = capturedInput{bytes.NewReader(req.captured)}
	}
	return m
}

// recording starts the recording of dc, if the verdict demands one. Otherwise it returns nil.
func (dc *decidedCall) recording(req *request) (*recording.Recording, error) {
	if !dc.v.Record {
		return nil, nil
	}
	return recording.Create(dc.config.Recordings, req.ID, recording.Header{
		Width: int(req.winsize.Cols), Height: int(req.winsize.Rows), Command: names.Printable(shellescape.QuoteCommand(dc.v.Args)),
	})
}

// command returns the command for req.
func (dc *decidedCall) command(req *request) executor.Command {
	return executor.Command{
		ID:             req.ID,
		Path:           dc.v.Command.Path,
		Args:           dc.v.Args,
		Env:            dc.env,
		Dir:            dc.cwd.FD(),
		NewPrivs:       dc.config.NewPrivs || dc.v.NewPrivs,
		LeaveProcesses: dc.v.LeaveProcesses,
		Sandbox:        dc.sandbox,
	}
}

// ending returns the last frame of a call from its command's status and error.
func ending(asJSON bool, req *request, v *policy.Verdict, st executor.Status, err error) wire.Exit {
	e, ended := endFailure(req, v, err)
	switch {
	case ended:
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
