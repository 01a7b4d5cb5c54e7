// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"time"

	"github.com/docker-hostexec/hostexec/exec/job"
)

// term is a stretch of a session: from a start of its container until the container has been
// given up. Calls, jobs and shells end with theirs. What is kept belongs to none.
type term struct {
	context.Context
	end context.CancelCauseFunc
}

// begin begins a term, as a part of the watcher's life.
func (w *Watcher) begin(life context.Context) {
	ctx, end := context.WithCancelCause(life)
	w.term.Store(&term{ctx, end})
}

// waitKeptJobs stays with the jobs that were kept, when the container is over for the reason why.
// All else ends. It returns why when they have ended too, and nil when the container runs
// again. An agent that was a process has no container, nor api.
func (w *Watcher) waitKeptJobs(ctx context.Context, api Engine, id string, why error) error {
	if ctx.Err() != nil || w.lasting() == nil {
		return why
	}
	w.log.Info("keeping jobs", "reason", why)
	w.keeping.Store(true)
	defer w.keeping.Store(false)
	old := w.term.Load()
	w.begin(ctx)
	old.end(why)
	for _, sh := range w.Calls.Server.Shells.List() {
		w.Calls.Server.Shells.Remove(sh.Name)
	}
	tick := time.NewTicker(absent)
	defer tick.Stop()
	if api == nil {
		tick.Stop()
	}
	for j := w.lasting(); j != nil; j = w.lasting() {
		select {
		case <-j.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			switch err := settled(ctx, api, id); {
			case err == nil:
				return nil
			case errors.Is(err, errGone):
				why = err
				tick.Stop() // it does not come back
			}
		}
	}
	return why
}

// lasting returns one of the jobs that run and are kept, or nil.
func (w *Watcher) lasting() *job.Job {
	for _, j := range w.Calls.Server.Jobs.Kept() {
		if j.Info().Status == job.Running {
			return j
		}
	}
	return nil
}

// keeps reports whether there is anything of jobs that are, or were, kept.
func (w *Watcher) keeps() bool {
	return w.Calls != nil && w.Calls.Server.Jobs != nil && len(w.Calls.Server.Jobs.Kept()) > 0
}
