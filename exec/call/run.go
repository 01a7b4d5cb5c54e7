// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"errors"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/record"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// run runs j between the given streams, and reports whether it was started. The error is
// errKilled when a person has ended it, and how it did is then to be told all the same.
func (s *Server) run(ctx context.Context, streams executor.Streams, req *request, j *job) (st executor.Status, ran bool, err error) {
	if j.v.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.v.Timeout, errTooLong)
		defer cancel()
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	rec, err := j.recording(req)
	if err != nil {
		return st, false, err
	}
	defer func() {
		if err := rec.Close(); err != nil {
			s.Log.Error("recording", "request", req.ID, "error", err)
		}
	}()
	m := j.narrow(&streams, req, rec)
	started := streams.Started
	streams.Started = func(pid int) {
		ran = true
		j.env = nil
		s.running.set(req, j.cwd.Path(), pid, kill)
		j.cwd.Close() // the command stands in it now
		started(pid)
	}
	defer s.running.drop(req.ID)
	st, err = j.runner.Run(ctx, j.command(req), streams)
	if err == nil && m != nil && m.full.Load() {
		err = errFull
	}
	return st, ran, err
}

// narrow leaves of s what j's profile opens, by way of the recording. Where output is limited
// the meter tells of it; else it is nil.
func (j *job) narrow(s *executor.Streams, req *request, rec *record.Recording) (m *meter) {
	s.Out, s.Err = rec.Out(s.Out), rec.Err(s.Err)
	if !j.v.Profile.Whole {
		m = limit(s, j.v.Profile.Output)
	}
	if req.captured != nil {
		s.In = given{bytes.NewReader(req.captured)}
	}
	return m
}

// recording begins to keep what j writes, where the verdict wants that; else it is nil.
func (j *job) recording(req *request) (*record.Recording, error) {
	if !j.v.Record {
		return nil, nil
	}
	return record.Create(j.sc.Recordings, req.ID, record.Header{
		Width: int(req.winsize.Cols), Height: int(req.winsize.Rows), Command: quoted(shellescape.QuoteCommand(j.v.Args)),
	})
}

// command is what runs for req.
func (j *job) command(req *request) executor.Command {
	return executor.Command{
		ID:       req.ID,
		Path:     j.v.Command.Path,
		Args:     j.v.Args,
		Env:      j.env,
		Dir:      j.cwd.FD(),
		NewPrivs: j.sc.NewPrivs || j.v.NewPrivs,
		Leave:    j.v.Leave,
	}
}

// ending turns what became of a command into the frame that says so.
func ending(asJSON bool, req *request, v policy.Verdict, st executor.Status, err error) wire.Exit {
	var e end
	switch {
	case errors.Is(err, errTooLong):
		e = tooLong(req, v)
	case errors.Is(err, errLate):
		e = late(req, v.Rule)
	case errors.Is(err, errFull):
		e = cutShort(req, v)
	case err != nil:
		e = notRun(req, v, err)
	case st.Signal != "":
		return wire.Exit{Outcome: wire.Signaled, Code: byte(st.Code), Signal: st.Signal, Consumed: st.Consumed}
	default:
		return wire.Exit{Outcome: wire.Exited, Code: byte(st.Code), Consumed: st.Consumed}
	}
	f := e.frame(asJSON)
	f.Consumed = st.Consumed
	return f
}
