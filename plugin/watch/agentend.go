// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync/atomic"
	"time"
)

// AgentGrace is how long an agent has between TERM and KILL, unless a person sets another time. It is
// the same in both modes, whatever ends the agent.
const AgentGrace = 10 * time.Second

// AgentEnd ends the agent of a session: it is asked to end, and killed when its time is up.
type AgentEnd struct {
	Asked, Deadline context.Context // done when the agent is to end, and when it is killed
	ask, kill       context.CancelFunc
	stopped         atomic.Pointer[StopError] // set if the whole session is to end, not only the agent
}

func newAgentEnd(life context.Context) *AgentEnd {
	e := &AgentEnd{}
	e.Asked, e.ask = context.WithCancel(life)
	e.Deadline, e.kill = context.WithCancel(life)
	return e
}

// Within asks the agent to end, and kills it after grace. If it is called several times, the earliest kill
// counts.
func (e *AgentEnd) Within(grace time.Duration) {
	e.ask()
	if grace <= 0 {
		e.kill()
		return
	}
	time.AfterFunc(grace, e.kill) // once the agent has ended, it does nothing
}

// Stopped returns why the whole session is to end, or nil if only the agent is.
func (e *AgentEnd) Stopped() error {
	if why := e.stopped.Load(); why != nil {
		return *why
	}
	return nil
}

// StopError is the cause that ends a session, with the time between TERM and KILL for its commands.
type StopError struct{ grace time.Duration }

func (e StopError) Error() string        { return ErrStopped.Error() }
func (e StopError) Is(target error) bool { return target == ErrStopped }
func (e StopError) Grace() time.Duration { return e.grace }

// gracefulError is why a session ends, with the time between TERM and KILL for its commands.
type gracefulError struct {
	error
	grace time.Duration
}

func (e gracefulError) Unwrap() error        { return e.error }
func (e gracefulError) Grace() time.Duration { return e.grace }

// graceful returns why the session ends, with the time that a person has set for all that it ends.
func (e *AgentEnd) graceful(why error) error {
	if set := e.stopped.Load(); set != nil && why != nil {
		return gracefulError{why, set.grace}
	}
	return why
}
