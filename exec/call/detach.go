// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A job is a call whose command goes on without its caller. It is decided, asked about and
// written down as any other, while the caller waits; then its output goes to files, and what
// ends it is kill, its own time, or the end of the session. One that is kept goes on when its
// container has ended: the policy has to say that it may, or the person who is asked sees that
// it would. Until it is ready, and its caller was told so, it ends with its caller, too: of
// what is left nobody would know.

// detach has what req names decided, and starts it as a job.
func (s *Server) detach(session, ctx context.Context, p *peer, req *request, ready Readiness) error {
	if s.Jobs == nil {
		return p.end(Failed("this session has no jobs"))
	}
	if err := req.setDeadline(); err != nil {
		return p.end(UsageError(err.Error()))
	}
	req.detached = true
	req.drop(0)
	req.close() // the shim writes to its own
	within, cancel := req.within(ctx, p)
	defer cancel()
	if in, err := s.enter(within, p, req, limit.Calls); !in {
		return err
	}
	w, err := s.admit(within, p, req)
	if w == nil {
		return err
	}
	kept, err := s.Jobs.Begin(req.ID, w.v.Args, w.cwd.Path(), req.keep)
	if err != nil {
		w.close()
		return fail(p, err, jobRefused(err))
	}
	if err := w.noteStart(req); err != nil {
		w.close()
		return errors.Join(fail(p, err, unwritten(err)), kept.Discard())
	}
	s.calls.Add(1)
	alive, end := context.WithCancelCause(session)
	let := context.AfterFunc(ctx, func() {
		if session.Err() == nil {
			end(errHungUp)
		}
	})
	held := req.detachReservation() // until the job ends
	lost, asJSON := make(chan wire.Exit, 1), p.json
	// ends when the job does, which the session's end sees to; Wait waits.
	s.ongoing.Go(func() {
		defer end(nil)
		defer held.release()
		s.background(alive, req, w, kept, func(st executor.Status, err error) { lost <- ending(asJSON, req, w.v, st, err) })
	})
	select {
	case e := <-lost:
		return p.exit(e)
	case <-kept.Started():
	}
	if err := ready.await(ctx, kept); err != nil {
		return s.answerNotReady(ctx, p, req, kept, ready, err)
	}
	if !let() {
		return fmt.Errorf("request %s: %w", req.ID, context.Cause(ctx))
	}
	return s.print(p, req, wire.Exit{Outcome: wire.Exited}, fmt.Appendf(nil, "%s %d\n", req.ID, kept.Info().PID))
}

// background runs w as the job kept until it has ended, and writes down how. If it could not
// be started lost is told why, and nothing of it stays.
func (s *Server) background(ctx context.Context, req *request, w *authorizedCall, kept *job.Job, lost func(executor.Status, error)) {
	defer w.close()
	within, cancel := req.within(ctx, nil)
	defer cancel()
	begin := time.Now()
	st, ran, err := s.run(within, kept.Streams(), req, w)
	how, reason := jobResult(ctx, req, w, &st, err)
	if err := w.note(req, audit.Record{Kind: audit.Complete, Args: w.v.Args, Exit: st.Code, Signal: st.Signal, Duration: time.Since(begin)}); err != nil {
		s.Log.Error("audit", "request", req.ID, "error", err)
	}
	if !ran {
		lost(st, err)
		err = kept.Discard()
	} else {
		err = kept.End(how, st, reason)
	}
	if err != nil {
		s.Log.Error("job", "request", req.ID, "error", err)
	}
}

// jobResult says what became of a job, and puts into st what wait exits with.
func jobResult(ctx context.Context, req *request, w *authorizedCall, st *executor.Status, err error) (how job.Status, reason string) {
	var limited *limit.Error
	switch {
	case err == nil && st.Code == 0:
		return job.Completed, ""
	case err == nil:
		return job.Failed, ""
	case errors.Is(err, errKilled):
		return job.Killed, ""
	case errors.As(err, &limited):
		st.Code = wire.CodeFailed
		return job.Error, endedByLimit(req, w.v, limited).Reason
	case errors.Is(err, errCallerDeadline):
		st.Code = wire.CodeTimeout
		return job.Failed, callerDeadlineExceeded(req, w.v.Rule).Reason
	case errors.Is(err, errTooLong):
		st.Code = wire.CodeTimeout
		return job.Failed, tooLong(req, w.v).Reason
	case errors.Is(err, errHungUp):
		return job.Killed, "its caller left before it was ready"
	case ctx.Err() != nil:
		return job.Killed, "the session ended"
	case errors.Is(err, errFull):
		st.Code = wire.CodeFailed
		return job.Error, outputLimitExceeded(req, w.v).Reason
	}
	e := notRun(req, w.v, err)
	st.Code = int(exitKinds[e.Status].code)
	return job.Error, e.Reason
}
