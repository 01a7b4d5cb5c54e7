// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A job is a call whose command continues without its caller. It is decided and recorded as any
// other call while the caller waits. Then its output goes to files, and it ends by itself, by kill, by
// its timeout, or with the session. A kept job continues after its container has ended, if the policy
// or the person who is asked allows that. Until the caller knows that the job is ready, the job ends
// with its caller, because nobody would know its id.

// detach has the request decided, and starts it as a job, which ends with lifetime at the latest.
func (x *exchange) detach(lifetime, ctx context.Context, ready Readiness) error {
	x.req.detached, x.req.awaitsPort = true, ready.Port != 0
	x.req.drop(0)
	x.req.close() // the shim writes to its own descriptors
	return x.decided(ctx, func(_ context.Context, dc *decidedCall) error { return x.startJob(lifetime, ctx, dc, ready) })
}

// startJob starts dc as a job, and answers the caller when the job is ready.
func (x *exchange) startJob(lifetime, ctx context.Context, dc *decidedCall, ready Readiness) error {
	j, err := x.server.Jobs.Begin(x.req.ID, dc.named(), dc.cwd.Path(), x.req.keep)
	if err != nil {
		dc.close()
		return fail(x.peer, err, jobRefused(err))
	}
	if err := dc.noteStart(x.req); err != nil {
		dc.close()
		return errors.Join(fail(x.peer, err, unwritten(err)), j.Discard(wire.CodeFailed, unwritten(err)))
	}
	x.server.calls.Add(1)
	alive, end := context.WithCancelCause(lifetime)
	stopWatching := context.AfterFunc(ctx, func() {
		if lifetime.Err() == nil {
			end(errHungUp)
		}
	})
	held := x.req.detachReservation() // until the job ends
	notStarted, asJSON := make(chan wire.Exit, 1), x.peer.json
	// ends when the job does, which the end of lifetime sees to; Wait waits.
	x.server.ongoing.Go(func() {
		defer end(nil)
		defer held.release()
		x.background(alive, dc, j, func(st executor.Status, err error) {
			if errors.Is(err, errKilled) {
				err = nil // st says so
			}
			notStarted <- ending(asJSON, x.req, &dc.v, st, err)
		})
	})
	select {
	case e := <-notStarted:
		return x.peer.exit(e)
	case <-j.Started():
	}
	if err := ready.await(ctx, j); err != nil {
		return x.answerNotReady(ctx, j, ready, err)
	}
	if !stopWatching() { // the caller has left already
		return fmt.Errorf("request %s: %w", x.req.ID, context.Cause(ctx))
	}
	return x.print(wire.Exit{Outcome: wire.Exited}, fmt.Appendf(nil, "%s %d\n", x.req.ID, j.Info().PID))
}

// background runs dc as the job j until it has ended, and records how it ended. If the command could not be started, it
// calls notStarted, and removes the job.
func (x *exchange) background(ctx context.Context, dc *decidedCall, j *job.Job, notStarted func(executor.Status, error)) {
	defer dc.close()
	within, cancel := x.req.within(ctx, nil)
	defer cancel()
	begin := time.Now()
	st, ran, err := x.run(within, j.Streams(), dc)
	how, reason := jobResult(ctx, x.req, dc, &st, err)
	x.noteComplete(dc, st.Code, st.Signal, begin)
	if !ran {
		notStarted(st, err)
		err = j.Discard(st.Code, reason)
	} else {
		err = j.End(how, st, reason)
	}
	if err != nil {
		x.server.Log.Error("store the end of a job", "request", x.req.ID, "error", err)
	}
}

// jobResult returns the final status of a job, and sets in st the code that wait exits with.
func jobResult(ctx context.Context, req *request, dc *decidedCall, st *executor.Status, err error) (how job.Status, reason string) {
	e, ended := endFailure(req, &dc.v, err)
	switch {
	case err == nil && st.Code == 0:
		return job.Completed, ""
	case err == nil:
		return job.Failed, ""
	case errors.Is(err, errKilled):
		return job.Killed, ""
	case ended && !errors.Is(err, errOutputLimit): // a cut of the output counts only if no case below applies
	case errors.Is(err, errHungUp):
		return job.Killed, "its caller left before it was ready"
	case ctx.Err() != nil:
		return job.Killed, "the session ended"
	case !ended:
		e = notRun(req, &dc.v, err)
	}
	st.Code = int(e.exit())
	if e.Status == StatusTimeout {
		return job.Failed, e.Reason
	}
	return job.Error, e.Reason
}
