// SPDX-License-Identifier: Apache-2.0

package call

import (
	"maps"
	"slices"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Processes that a command has started may outlive it. They run until the session ends. Until then ps
// shows them, and kill ends them by the id of their request.

// leftovers are the requests of the container whose commands may have left processes. Other processes
// belong to the person at the host: notifiers, and what a rule with leave: true has started. The container
// neither sees nor ends those.
type leftovers struct {
	mu  sync.Mutex // guards the field below
	ids map[string]bool
}

// maxLeftovers is the maximum number of them. Beyond it, requests that have left nothing are forgotten.
const maxLeftovers = 4096

// add notes that the command of request id runs, and may leave processes. running returns the calls that
// run.
func (l *leftovers) add(id string, running func() []Running) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) >= maxLeftovers {
		l.forget(running(), proctree.AllLeftovers())
	}
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	if len(l.ids) < maxLeftovers {
		l.ids[id] = true
	}
}

// forget removes the requests that neither run nor have left anything. The caller holds the lock.
func (l *leftovers) forget(running []Running, left []proctree.Leftover) {
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

// list returns the processes that commands of the container have left.
func (l *leftovers) list() []proctree.Leftover {
	return slices.DeleteFunc(proctree.AllLeftovers(), func(p proctree.Leftover) bool { return !l.has(p.ID) })
}

// endLeftoversForContainer is EndLeftovers for a caller in the container.
func (s *Server) endLeftoversForContainer(id string) bool {
	return s.left.has(id) && s.EndLeftovers(id)
}

// EndLeftovers ends the processes that the command of request id has left, and returns when they are gone. It
// reports whether there were any.
func (s *Server) EndLeftovers(id string) bool {
	was, err := proctree.EndLeftovers(id, proctree.DefaultGrace)
	if err != nil {
		s.Log.Error("end what was left", "request", id, "error", err)
	}
	return was
}
