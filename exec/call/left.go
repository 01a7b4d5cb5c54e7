// SPDX-License-Identifier: Apache-2.0

package call

import (
	"maps"
	"slices"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// What a command has started may go on when it has ended itself: it stays until the session
// ends, and until then it can be seen, and ended by the id of the request that it came of.

// leftovers are the requests whose commands may have left processes that the container sees and ends.
// Others are the person's: what notifies, and what a rule leaves for the person to use.
type leftovers struct {
	mu  sync.Mutex // guards the field below
	ids map[string]bool
}

// maxLeftovers is how many of them are known. From then on those are forgotten that left nothing.
const maxLeftovers = 4096

// add notes that the command of request id runs, and may leave something. running returns the calls
// that run.
func (l *leftovers) add(id string, running func() []Running) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) >= maxLeftovers {
		l.forget(running(), proctree.AllLeft())
	}
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	if len(l.ids) < maxLeftovers {
		l.ids[id] = true
	}
}

// forget leaves those that run or have left something. The lock is the caller's.
func (l *leftovers) forget(running []Running, left []proctree.Left) {
	before := l.ids
	l.ids = map[string]bool{}
	for _, r := range running {
		l.ids[r.Request] = before[r.Request]
	}
	for _, p := range left {
		l.ids[p.ID] = before[p.ID]
	}
	maps.DeleteFunc(l.ids, func(_ string, own bool) bool { return !own })
}

func (l *leftovers) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[id]
}

// list returns what commands of the container's have left running.
func (l *leftovers) list() []proctree.Left {
	return slices.DeleteFunc(proctree.AllLeft(), func(p proctree.Left) bool { return !l.has(p.ID) })
}

// endLeftInside is EndLeft for a caller in the container.
func (s *Server) endLeftInside(id string) bool { return s.left.has(id) && s.EndLeft(id) }

// EndLeft ends what the command of request id has left running, and returns when it is gone.
// It reports whether there was anything.
func (s *Server) EndLeft(id string) bool {
	was, err := proctree.EndLeft(id, proctree.DefaultGrace)
	if err != nil {
		s.Log.Error("end what was left", "request", id, "error", err)
	}
	return was
}
