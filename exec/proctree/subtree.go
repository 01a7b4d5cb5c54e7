// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"syscall"
	"time"
)

// Subtree is a process that lives on while what grows from it ends: a shell, whose commands
// come and go. It remembers what was there when it was looked at.
type Subtree struct {
	id string // the marker that the process was started with
	subtree
}

// NewSubtree returns the subtree of a living process, which was started with the marker id.
func NewSubtree(pid int, id string) Subtree { return newSubtree(pid, id) }

// Alive reports whether the process still runs.
func (s Subtree) Alive() bool { return s.alive() }

// Interrupt sends sig to the process, and then INT to all that has grown from it since, as ^C on its terminal would.
// Orphans are known by the marker of request.
func (s Subtree) Interrupt(request string, sig syscall.Signal) { s.interrupt(request, sig) }

// HangUp suspends the process and queues HUP, which ends it as soon as it is continued. Until then
// processes that are known only as its children can be found.
func (s Subtree) HangUp() { s.hangUp() }

// EndNew ends all that has grown from the process since: TERM, KILL after grace. The process
// itself, and what grew before, stays.
func (s Subtree) EndNew(request string, grace time.Duration) error { return s.endNew(request, grace) }

// EndSubtree ends the descendant pid and all that has grown from it.
func (s Subtree) EndSubtree(pid int, request string, grace time.Duration) error {
	return s.endSubtree(pid, request, grace)
}
