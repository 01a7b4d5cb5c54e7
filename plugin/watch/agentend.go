// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync/atomic"
	"time"
)

// AgentGrace is the time between TERM and KILL for an agent, unless a person sets another time. It is the same for
// agents on this host and in containers, and for all reasons.
const AgentGrace = 10 * time.Second

// AgentEnd ends the agent of a session: first with TERM, and later with KILL.
type AgentEnd struct {
	Asked, Deadline context.Context // done when the agent gets TERM, and when it gets KILL
	ask, kill       context.CancelFunc
	stopped         atomic.Pointer[StopError] // set if the whole session is to end, not only the agent
}

func newAgentEnd(life context.Context) *AgentEnd {
	e := &AgentEnd{}
	e.Asked, e.ask = context.WithCancel(life)
	e.Deadline, e.kill = context.WithCancel(life)
	return e
}

// EndWithin asks the agent to end, and kills it after grace. If it is called several times, the earliest kill
// counts.
func (e *AgentEnd) EndWithin(grace time.Duration) {
	e.ask()
	if grace <= 0 {
		e.kill()
		return
	}
	time.AfterFunc(grace, e.kill) // does nothing if the agent has ended
}

// Stopped returns the reason why the whole session ends, or nil if only the agent ends.
func (e *AgentEnd) Stopped() error {
	if why := e.stopped.Load(); why != nil {
		return *why
	}
	return nil
}

// StopError is the cause of the end of a session that a person stops. It has the time between TERM and KILL for
// commands.
type StopError struct{ grace time.Duration }

func (e StopError) Error() string        { return ErrStopped.Error() }
func (e StopError) Is(target error) bool { return target == ErrStopped }
func (e StopError) Grace() time.Duration { return e.grace }

// gracefulError is any other cause, with the time between TERM and KILL for commands.
type gracefulError struct {
	error
	grace time.Duration
}

func (e gracefulError) Unwrap() error        { return e.error }
func (e gracefulError) Grace() time.Duration { return e.grace }

// graceful adds to why the time between TERM and KILL that a person has set.
func (e *AgentEnd) graceful(why error) error {
	if set := e.stopped.Load(); set != nil && why != nil {
		return gracefulError{why, set.grace}
	}
	return why
}
