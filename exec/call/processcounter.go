// SPDX-License-Identifier: Apache-2.0

package call

import (
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// processCounter counts the processes of a session's commands while there are any. The kernel has no limit for this
// purpose: RLIMIT_NPROC counts all processes of the user, and a control group needs root or a delegated subtree.
type processCounter struct {
	counting sync.WaitGroup // the goroutine that counts

	mu   sync.Mutex    // guards the fields below
	stop chan struct{} // closed by end; nil while nothing counts
	last int64         // their number at the last count
}

const (
	// countInterval is the pause between two counts, and busyCountInterval that with many processes.
	countInterval, busyCountInterval = time.Second, 100 * time.Millisecond
	// countPauseFactor is the minimum ratio of a pause to the duration of the count before it.
	countPauseFactor = 10
)

// start starts counting. It stops when no call is in flight and no process is left.
func (t *processCounter) start(s *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil {
		stop := make(chan struct{})
		t.stop = stop
		// ends when no call is in flight and nothing is left of any, or with end, which waits.
		t.counting.Go(func() { t.run(s, stop) })
	}
}

// end stops counting, and returns after the last count.
func (t *processCounter) end() {
	t.mu.Lock()
	if t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
	t.mu.Unlock()
	t.counting.Wait()
}

// full returns the limit if there are too many processes, and otherwise nil.
func (t *processCounter) full(s *Server) error {
	limit := s.Limits.Limit(limit.Processes)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last < limit.Max {
		return nil
	}
	return limit
}

func (t *processCounter) run(s *Server, stop chan struct{}) {
	pause := countInterval
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
		pause = countInterval
		if n > s.Limits.Limit(limit.Processes).Max/2 {
			pause = busyCountInterval
		}
		pause = max(pause, countPauseFactor*time.Since(begin))
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

// count counts the processes. If there are too many, no new call enters, and the call with the most
// processes ends. Then it counts again, so that the ended processes do not block the next call.
func (t *processCounter) count(s *Server) int64 {
	n, most := t.processes(s)
	t.note(n)
	if limit := s.Limits.Limit(limit.Processes); n > limit.Max {
		t.endTree(s, most, limit)
		n, _ = t.processes(s)
		t.note(n)
	}
	return n
}

// processes counts the processes of all calls, and returns the largest tree.
func (t *processCounter) processes(s *Server) (n int64, most proctree.Size) {
	for _, tree := range proctree.Sizes() {
		if s.ofAgent(tree) { // the agent is no call, but a process of a call can claim to belong to the agent
			tree.Count = tree.Claimed
		}
		n += int64(tree.Count)
		if tree.Count > most.Count {
			most = tree
		}
	}
	return n, most
}

// ofAgent reports whether tree has the ID of the session's agent. There may be no agent.
func (s *Server) ofAgent(tree proctree.Size) bool {
	sc := s.config.Load()
	return sc != nil && tree.ID != "" && tree.ID == sc.Session
}

// note notes the number of processes, for full.
func (t *processCounter) note(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = n
}

// endTree kills a tree without TERM first, because it could grow in between. The agent and its POSIX session continue.
func (t *processCounter) endTree(s *Server, tree proctree.Size, over *limit.Error) {
	s.Log.Warn("too many processes", "request", tree.ID, "processes", tree.Count, "limit", over.Max)
	end := proctree.EndNow
	if s.ofAgent(tree) {
		end = proctree.EndClaimed
	}
	s.running.kill(tree.ID, over)
	if err := end(tree.ID); err != nil {
		s.Log.Error("end processes", "request", tree.ID, "error", err)
	}
}
