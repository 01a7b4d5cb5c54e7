// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// EndJob ends the process tree of the job that ref names, with TERM and after a while KILL, and returns
// when it is gone. If the job has ended, EndJob ends the processes that it has left. With a signal it only
// sends that to the job's command. It returns the job's id. The error wraps job.ErrUnknown or job.ErrEnded,
// or says that several ids begin with ref.
func (s *Server) EndJob(ctx context.Context, ref string, sig executor.Signal) (id string, err error) {
	j, err := s.job(ref)
	if err != nil {
		return "", err
	}
	return s.endJob(ctx, j, sig, errKilled, s.EndLeftovers)
}

// endJob is EndJob for a job that was found, with the cause for which it ends.
func (s *Server) endJob(ctx context.Context, j *job.Job, sig executor.Signal, cause error, endLeftovers func(id string) bool) (id string, err error) {
	id = j.Info().ID
	if sig != "" {
		if err := j.Signal(sig); err != nil {
			return id, fmt.Errorf("job %s: %w", id, err)
		}
		return id, nil
	}
	if !s.running.kill(id, cause) { // it is about to start, or has ended
		select {
		case <-j.Started():
		case <-j.Done():
		case <-ctx.Done():
			return id, context.Cause(ctx)
		}
		if j.Info().Status != job.Running {
			if endLeftovers(id) {
				return id, nil
			}
			return id, fmt.Errorf("job %s: %w", id, job.ErrEnded)
		}
		s.running.kill(id, cause)
	}
	select {
	case <-j.Done():
		return id, nil
	case <-ctx.Done():
		return id, context.Cause(ctx)
	}
}

// job returns the job whose id is ref, or the only one whose id begins with ref.
func (s *Server) job(ref string) (*job.Job, error) {
	j, err := s.Jobs.Find(ref)
	var many job.Ambiguous
	switch {
	case errors.As(err, &many):
		return nil, fmt.Errorf("%s is the beginning of %d jobs' ids", names.Printable(Truncate(ref)), int(many))
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, names.Quoted(Truncate(ref)))
	}
	return j, nil
}
