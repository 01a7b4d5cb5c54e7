// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// ErrNotJob means that a signal was to be sent to a command that is not a job.
var ErrNotJob = errors.New("not a job: it gets signals from its caller only; kill without -s ends it")

// endForContainer ends an entry of hostexec ps for a caller in the container. The entry is a job, a call, a text of a
// shell, or the leftover processes of one of these. It returns when they are gone.
func (s *Server) endForContainer(ctx context.Context, id string, sig executor.Signal) error {
	if j, err := s.job(id); err == nil {
		_, err := s.endJob(ctx, j, sig, errKilledByContainer, s.endLeftoversForContainer)
		return err
	}
	running := s.running.find(id)
	switch {
	case sig != "":
		return ErrNotJob
	case running == nil:
		s.endLeftoversForContainer(id) // nothing, if it has just ended
		return nil
	}
	running.kill(errKilledByContainer)
	select {
	case <-running.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find returns a copy of the running call id of the container, or nil.
func (t *runningCalls) find(id string) *runningCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, runs := t.calls[id]; runs && !e.ByHost {
		c := *e
		return &c
	}
	return nil
}
