// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

const (
	// Poll is the interval of most checks, including requests to an engine that answers.
	Poll = 200 * time.Millisecond
	// EnginePoll is the interval of requests to an engine that may not answer, and of checks that are less urgent.
	EnginePoll = time.Second
)

// Lifetime determines when the session ends, and why.
type Lifetime struct {
	Agent *AgentEnd   // nil: not the session of an agent
	Down  atomic.Bool // the container does not run at the moment

	// Interrupt is called on TERM and INT. If it is nil, these signals end the session.
	Interrupt func(why error)

	calls   *Calls
	log     *slog.Logger
	cancel  context.CancelCauseFunc
	done    <-chan struct{} // closed when the session ends
	keeping atomic.Bool     // the container has ended, and only jobs that are kept are waited for
	period  atomic.Pointer[callPeriod]
}

// newLifetime returns a lifetime that ends with ctx at the latest, and the context that is done when it ends.
func newLifetime(ctx context.Context, record *Record, log *slog.Logger) (*Lifetime, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &Lifetime{log: log, cancel: cancel, done: ctx.Done()}
	if record.Session().Agent != nil {
		l.Agent = newAgentEnd(ctx)
	}
	return l, ctx
}

// Stop ends the session. The first reason counts.
func (l *Lifetime) Stop(why error) {
	if l.Agent != nil {
		why = l.Agent.graceful(why)
	}
	l.cancel(why)
}

func (l *Lifetime) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// callPeriod is a part of a session: from a start of its container until the watcher stops waiting for a restart.
// Calls, jobs and shells end with their callPeriod. Kept jobs end with the session.
type callPeriod struct {
	context.Context
	end context.CancelCauseFunc
}

// beginPeriod begins a callPeriod, which ends with session at the latest.
func (l *Lifetime) beginPeriod(session context.Context) {
	ctx, end := context.WithCancelCause(session)
	l.period.Store(&callPeriod{ctx, end})
}

// EndCalls ends the calls and shells of a container that has ended for the reason why, and jobs that are not kept.
// Later calls belong to a new callPeriod.
func (l *Lifetime) EndCalls(session context.Context, why error) {
	old := l.period.Load()
	l.beginPeriod(session)
	old.end(why)
	for _, sh := range l.calls.Server.Shells.List() {
		l.calls.Server.Shells.Remove(sh.Name)
	}
}

// WaitKeptJobs waits for kept jobs after the container has ended for the reason why. All other processes end. It
// returns why when these jobs have ended, and nil when the container runs again. runs returns nil if the container
// runs, and ErrGone if it never will. runs is nil for an agent without a container.
func (l *Lifetime) WaitKeptJobs(ctx context.Context, runs func(context.Context) error, why error) error {
	if ctx.Err() != nil || l.KeptJob() == nil {
		return why
	}
	l.log.Info("keeping jobs", "reason", why)
	l.keeping.Store(true)
	defer l.keeping.Store(false)
	if l.Agent != nil && l.Agent.Stopped() != nil {
		return l.Agent.Stopped()
	}
	l.EndCalls(ctx, why)
	tick := time.NewTicker(EnginePoll)
	defer tick.Stop()
	if runs == nil {
		tick.Stop()
	}
	for j := l.KeptJob(); j != nil; j = l.KeptJob() {
		select {
		case <-j.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			switch err := runs(ctx); {
			case err == nil:
				return nil
			case errors.Is(err, ErrGone):
				why = err
				tick.Stop() // a removed container does not run again
			}
		}
	}
	return why
}

// KeptJob returns a kept job that runs, or nil.
func (l *Lifetime) KeptJob() *job.Job {
	for _, j := range l.calls.Server.Jobs.Kept() {
		if j.Info().Status == job.Running {
			return j
		}
	}
	return nil
}

// hasKeptJobs reports whether the session has kept jobs, which run or have ended.
func (l *Lifetime) hasKeptJobs() bool {
	return l.calls.Server.Jobs != nil && len(l.calls.Server.Jobs.Kept()) > 0
}

// defaultGrace stands for the default time between TERM and KILL.
const defaultGrace = -1

// stopWithin ends the session for a person or a signal. An agent ends first, so that it can end its calls.
func (l *Lifetime) stopWithin(grace time.Duration) {
	why := StopError{grace}
	if grace < 0 {
		why.grace, grace = proctree.DefaultGrace, AgentGrace
	}
	if l.Agent == nil {
		l.Stop(why)
		return
	}
	l.Agent.stopped.Store(&why)
	if l.keeping.Load() { // the agent has ended; otherwise WaitKeptJobs sees stopped
		l.Stop(why)
		return
	}
	l.Agent.EndWithin(grace)
}

// EndUnlessKept ends the session of an agent whose container has ended. If a kept job still runs, and no user has
// stopped the session, it stays until its kept jobs have ended.
func (l *Lifetime) EndUnlessKept(why error, conn *LauncherConn) {
	if l.KeptJob() == nil || l.Agent.stopped.Load() != nil {
		l.Stop(why)
		return
	}
	conn.CloseEarly()
}

// graceOf returns the time between TERM and KILL for processes that still run when the session ends.
func (l *Lifetime) graceOf(ctx context.Context) time.Duration {
	var why StopError
	switch {
	case l.Agent != nil && l.Agent.stopped.Load() != nil:
		why = *l.Agent.stopped.Load()
	case !errors.As(context.Cause(ctx), &why):
		why.grace = proctree.DefaultGrace
	}
	return max(why.grace, 1) // zero would mean the default
}
