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

// owned are the requests whose commands may have left something that the container sees and ends.
// Others are the person's: what notifies, and what a rule leaves for the person to use.
type owned struct {
	mu  sync.Mutex // guards the field below
	ids map[string]bool
}

// maxOwned is how many of them are known. From then on those are forgotten that left nothing.
const maxOwned = 4096

// own notes that the command of request id runs, and may leave something.
func (s *Server) own(id string) {
	s.owned.mu.Lock()
	defer s.owned.mu.Unlock()
	if len(s.owned.ids) >= maxOwned {
		s.owned.forget(s.Running(), proctree.AllLeft())
	}
	if s.owned.ids == nil {
		s.owned.ids = map[string]bool{}
	}
	if len(s.owned.ids) < maxOwned {
		s.owned.ids[id] = true
	}
}

// forget leaves those that run or have left something. The lock is the caller's.
func (o *owned) forget(running []Running, left []proctree.Left) {
	before := o.ids
	o.ids = map[string]bool{}
	for _, r := range running {
		o.ids[r.Request] = before[r.Request]
	}
	for _, l := range left {
		o.ids[l.ID] = before[l.ID]
	}
	maps.DeleteFunc(o.ids, func(_ string, own bool) bool { return !own })
}

func (o *owned) has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[id]
}

// ownLeft returns what commands of the container's have left running.
func (s *Server) ownLeft() []proctree.Left {
	return slices.DeleteFunc(proctree.AllLeft(), func(l proctree.Left) bool { return !s.owned.has(l.ID) })
}

// endOwn is EndLeft for a caller in the container.
func (s *Server) endOwn(id string) bool { return s.owned.has(id) && s.EndLeft(id) }

// EndLeft ends what the command of request id has left running, and returns when it is gone.
// It reports whether there was anything.
func (s *Server) EndLeft(id string) bool {
	was, err := proctree.EndLeft(id, proctree.DefaultGrace)
	if err != nil {
		s.Log.Error("end what was left", "request", id, "error", err)
	}
	return was
}
