// SPDX-License-Identifier: Apache-2.0

package call

import (
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// processCounter counts the processes of a session's commands, from time to time while there are any.
// No kernel does it for us: the limit of a user is of all that the user runs, and a control
// group is root's to make.
type processCounter struct {
	rounds sync.WaitGroup

	mu   sync.Mutex    // guards the fields below
	stop chan struct{} // closed by end; nil while it does not go
	over *limit.Error  // nil while there are not too many
}

const (
	// counting is how often processes are counted, and hasty how often where there are many.
	counting, countingBusy = time.Second, 100 * time.Millisecond
	// effort is how much longer than a count the pause after it is.
	effort = 10
)

// start has processes counted from now on, as long as there are any.
func (t *processCounter) start(s *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil {
		stop := make(chan struct{})
		t.stop = stop
		// ends when no call is in flight and nothing is left of any, or with end, which waits.
		t.rounds.Go(func() { t.run(s, stop) })
	}
}

// end returns when nothing is counted any more, until start.
func (t *processCounter) end() {
	t.mu.Lock()
	if t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
	t.mu.Unlock()
	t.rounds.Wait()
}

// full returns the limit when there are too many processes, else nil.
func (t *processCounter) full() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over == nil {
		return nil // not t.over: that would be an error
	}
	return t.over
}

func (t *processCounter) run(s *Server, stop chan struct{}) {
	pause := counting
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-stop:
			timer.Stop()
			return
		}
		begin := time.Now()
		n := t.count(s)
		pause = counting
		if n > s.Limits.Limit(limit.Processes).Max/2 {
			pause = countingBusy
		}
		pause = max(pause, effort*time.Since(begin))
		t.mu.Lock()
		if n == 0 && s.Limits.Held(limit.Calls) == 0 {
			if t.stop == stop { // else it was ended, and may go again
				t.stop = nil
			}
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}

// count counts the processes. When there are too many no call is let in, and the one that has
// most of them ends. Then they are counted anew, so that no call is refused for those.
func (t *processCounter) count(s *Server) int64 {
	n, most := s.processes()
	limit := t.checkLimit(s, n)
	if n > limit.Max {
		s.endTree(most, limit)
		n, _ = s.processes()
		t.checkLimit(s, n)
	}
	return n
}

// processes counts the processes of all calls, and returns the largest tree of them.
func (s *Server) processes() (n int64, most proctree.Size) {
	for _, tree := range proctree.Sizes() {
		if sc := s.state.Load(); sc != nil && tree.ID == sc.Session { // an agent, which is no call
			continue
		}
		n += int64(tree.Count)
		if tree.Count > most.Count {
			most = tree
		}
	}
	return n, most
}

// checkLimit notes whether n processes let another call in, and returns the limit of them.
func (t *processCounter) checkLimit(s *Server, n int64) *limit.Error {
	limit := s.Limits.Limit(limit.Processes)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = nil
	if n >= limit.Max {
		t.over = limit
	}
	return limit
}

// endTree ends a tree at once: one that grows is not asked first.
func (s *Server) endTree(tree proctree.Size, over *limit.Error) {
	s.Log.Warn("too many processes", "request", tree.ID, "processes", tree.Count, "limit", over.Max)
	s.kill(tree.ID, over)
	if err := proctree.EndNow(tree.ID); err != nil {
		s.Log.Error("end processes", "request", tree.ID, "error", err)
	}
}
