// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Running is a call whose command runs.
type Running struct {
	Request string
	Args    []string
	Dir     string // on the host
	PID     int    // on the host
	Since   time.Time
}

// table holds the running calls by request id.
type table struct {
	mu    sync.Mutex // guards the field below
	calls map[string]entry
}

// entry is one call of a table, and what ends it.
type entry struct {
	Running
	kill context.CancelCauseFunc
}

// errKilled is why a command ends that a person has ended.
var errKilled = errors.New("a person ended it")

func (t *table) set(req *request, dir string, pid int, kill context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]entry{}
	}
	t.calls[req.ID] = entry{Running{Request: req.ID, Args: req.Args, Dir: dir, PID: pid, Since: time.Now()}, kill}
}

func (t *table) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, id)
}

// Running returns the calls whose commands run now, oldest first.
func (s *Server) Running() []Running {
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	all := make([]Running, 0, len(s.running.calls))
	for _, r := range s.running.calls {
		all = append(all, r.Running)
	}
	slices.SortFunc(all, func(a, b Running) int { return a.Since.Compare(b.Since) })
	return all
}

// Kill ends the command that runs for request, its whole tree as a hang-up would; but the
// caller is still there, and learns of which signal it died. It reports whether there is
// such a command. It does not wait.
func (s *Server) Kill(request string) bool {
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	r, runs := s.running.calls[request]
	if runs {
		r.kill(errKilled)
	}
	return runs
}
