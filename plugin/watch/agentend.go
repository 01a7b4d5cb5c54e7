// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// AgentGrace is how long an agent has between TERM and KILL, unless a person sets another time. It is
// the same in both modes, whatever ends the agent.
const AgentGrace = 10 * time.Second

// agentEnd ends the agent of a session: it is asked to end, and killed when its time is up.
type agentEnd struct {
	asked, deadline context.Context
	ask, kill       context.CancelFunc
	stopped         atomic.Pointer[stopError] // set if the whole session is to end, not only the agent
}

func newAgentEnd(life context.Context) *agentEnd {
	e := &agentEnd{}
	e.asked, e.ask = context.WithCancel(life)
	e.deadline, e.kill = context.WithCancel(life)
	return e
}

// within asks the agent to end, and kills it after grace. Of several calls the one that kills first
// counts.
func (e *agentEnd) within(grace time.Duration) {
	e.ask()
	if grace <= 0 {
		e.kill()
		return
	}
	time.AfterFunc(grace, e.kill) // once the agent has ended, it does nothing
}

// stopError is the cause that ends a session, with the time between TERM and KILL for its commands.
type stopError struct{ grace time.Duration }

func (e stopError) Error() string        { return errStopped.Error() }
func (e stopError) Is(target error) bool { return target == errStopped }
func (e stopError) Grace() time.Duration { return e.grace }

// gracefulError is why a session ends, with the time between TERM and KILL for its commands.
type gracefulError struct {
	error
	grace time.Duration
}

func (e gracefulError) Unwrap() error        { return e.error }
func (e gracefulError) Grace() time.Duration { return e.grace }

// graceful returns why the session ends, with the time that a person has set for all that it ends.
func (e *agentEnd) graceful(why error) error {
	if set := e.stopped.Load(); set != nil && why != nil {
		return gracefulError{why, set.grace}
	}
	return why
}

// usual stands for the default grace.
const usual = -1

// stopWithin ends the session for a person or a signal. An agent is ended first, so that it can end
// its calls.
func (w *Watcher) stopWithin(grace time.Duration) {
	why := stopError{grace}
	if grace < 0 {
		why.grace, grace = proctree.DefaultGrace, AgentGrace
	}
	if w.agent == nil {
		w.stop(why)
		return
	}
	w.agent.stopped.Store(&why)
	w.agent.within(grace)
}

// overBut ends the session of an agent whose container has ended, unless it has kept jobs: then it
// stays like any other session, once the wait for the container has returned.
func (w *Watcher) overBut(why error, link *watcherLink) {
	if w.lasting() == nil || w.agent.stopped.Load() != nil {
		w.stop(why)
		return
	}
	link.letGo()
}

// graceOf returns how long the processes that commands have left running have between TERM and KILL
// when the session is over.
func (w *Watcher) graceOf(ctx context.Context) time.Duration {
	var why stopError
	switch {
	case w.agent != nil && w.agent.stopped.Load() != nil:
		why = *w.agent.stopped.Load()
	case !errors.As(context.Cause(ctx), &why):
		why.grace = proctree.DefaultGrace
	}
	return max(why.grace, 1) // zero would mean the default
}

// stopAgent ends the agent's container when the agent is to end. Then the caller, which follows
// the container, removes it and ends the session; a caller that does not is not waited for.
func (w *Watcher) stopAgent(ctx context.Context, api Engine, id string, link *watcherLink) {
	select {
	case <-w.agent.asked.Done():
	case <-ctx.Done():
		return
	}
	link.stopping()
	w.terminate(ctx, api, id)
	if pause(ctx, removing) {
		w.stop(w.abandoned(ctx, api, id))
	}
}

// terminate has the engine send TERM, and KILL when the agent's time is up.
func (w *Watcher) terminate(ctx context.Context, api Engine, id string) {
	polite, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.agent.deadline, cancel)()
	for _, seconds := range []int{unlimited, 0} {
		err := api.ContainerStop(polite, id, container.StopOptions{Timeout: &seconds})
		if err == nil || errdefs.IsNotFound(err) || ctx.Err() != nil {
			return
		}
		if !errors.Is(err, context.Canceled) {
			w.log.Warn("stop the agent's container", "error", err)
		}
		polite = ctx
	}
}

// removing is how long an agent's caller has to remove a container that has ended.
const removing = 10 * time.Second

// unlimited makes the engine wait for ever after TERM.
const unlimited = -1
