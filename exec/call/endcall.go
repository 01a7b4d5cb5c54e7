// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// endAny ends what hostexec ps lists by ref: a job, a call or a text of a shell that runs, or
// what one of these has left running. It returns when that is gone.
func (s *Server) endAny(ctx context.Context, ref string, sig executor.Signal) (id string, err error) {
	if id, err = s.listedAs(ref); err != nil {
		return "", err
	}
	if kept, err := s.job(id); err == nil {
		return s.endJob(ctx, kept, sig, errKilledInside, s.endOwn)
	}
	running := s.running.find(id)
	switch {
	case sig != "":
		return "", fmt.Errorf("%s is not a job: it gets signals from its caller only; kill without -s ends it", names.Printable(Truncate(ref)))
	case running == nil:
		s.endOwn(id) // nothing of it, if that has ended meanwhile
		return id, nil
	}
	running.kill(errKilledInside)
	select {
	case <-running.done:
		return id, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// listedAs returns the id that hostexec ps lists and that is ref, or alone begins with it.
func (s *Server) listedAs(ref string) (string, error) {
	hits := map[string]bool{} // one may be that of a job and of what this has left
	for _, r := range s.rows() {
		if r.ID == ref {
			return ref, nil
		}
		if ref != "" && strings.HasPrefix(r.ID, ref) {
			hits[r.ID] = true
		}
	}
	if len(hits) > 1 {
		return "", fmt.Errorf("%s is the beginning of %d ids", names.Printable(Truncate(ref)), len(hits))
	}
	for id := range hits {
		return id, nil
	}
	return "", fmt.Errorf("%w: %s", job.ErrUnknown, names.Quoted(Truncate(ref)))
}

// find returns the call of the container's that runs as id, or nil.
func (t *table) find(id string) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, runs := t.calls[id]; runs && !e.ByHost {
		return &e
	}
	return nil
}
