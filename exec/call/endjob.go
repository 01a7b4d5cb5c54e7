// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"fmt"
	"iter"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
)

// EndJob ends the job that ref names, its whole tree, and returns when it is gone: TERM, and
// KILL after a while. Of one that has ended it ends what that left running. With a signal it only
// sends that to the job's command. It returns the job's id. The error wraps job.ErrUnknown or
// job.ErrEnded, or says that several begin with ref.
func (s *Server) EndJob(ctx context.Context, ref string, sig executor.Signal) (id string, err error) {
	kept, err := s.job(ref)
	if err != nil {
		return "", err
	}
	return s.endJob(ctx, kept, sig, errKilled, s.EndLeft)
}

// endJob is EndJob for a job that was found, with the cause that its end has.
func (s *Server) endJob(ctx context.Context, kept *job.Job, sig executor.Signal, cause error, endLeft func(id string) bool) (id string, err error) {
	id = kept.Info().ID
	if sig != "" {
		if err := kept.Signal(sig); err != nil {
			return id, fmt.Errorf("job %s: %w", id, err)
		}
		return id, nil
	}
	select {
	case <-kept.Started(): // before that there is nothing to end
	case <-kept.Done():
	case <-ctx.Done():
		return id, context.Cause(ctx)
	}
	if kept.Info().Status != job.Running {
		if endLeft(id) {
			return id, nil
		}
		return id, fmt.Errorf("job %s: %w", id, job.ErrEnded)
	}
	s.kill(id, cause)
	select {
	case <-kept.Done():
		return id, nil
	case <-ctx.Done():
		return id, context.Cause(ctx)
	}
}

// endEach ends all that refs name at the same time, and yields the results in the order of refs.
func (s *Server) endEach(ctx context.Context, refs []string, sig executor.Signal) iter.Seq2[string, error] {
	type result struct {
		id  string
		err error
	}
	results := make([]chan result, len(refs))
	for i, ref := range refs {
		results[i] = make(chan result, 1)
		// ends when that has, or with ctx; the reader below waits for it.
		go func() {
			id, err := s.endAny(ctx, ref, sig)
			results[i] <- result{id, err}
		}()
	}
	return func(yield func(string, error) bool) {
		for _, c := range results {
			r := <-c
			if !yield(r.id, r.err) {
				return
			}
		}
	}
}
