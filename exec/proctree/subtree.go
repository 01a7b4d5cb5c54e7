// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"syscall"
	"time"
)

// Subtree is a process, such as a shell, with its descendants. A descendant is new if it is below a child or an orphan
// that did not exist when the Subtree was created.
type Subtree struct {
	id string // the marker that the process was started with
	subtree
}

// NewSubtree returns the subtree of a running process, which was started with the marker id.
func NewSubtree(pid int, id string) Subtree { return newSubtree(pid, id) }

// Alive reports whether the process still runs.
func (s Subtree) Alive() bool { return s.alive() }

// Interrupt sends sig to the process, and then INT to its new descendants, as ^C on its terminal would. Orphans are
// recognised by the marker of request.
func (s Subtree) Interrupt(request string, sig syscall.Signal) { s.interrupt(request, sig) }

// Continue continues the process if a signal has stopped it: a stopped process acts on no other signal than KILL.
func (s Subtree) Continue() { s.resume() }

// HangUp suspends the process and queues HUP, which ends it as soon as it is continued. Until then, its children still
// have it as their parent, and so can be found.
func (s Subtree) HangUp() { s.hangUp() }

// EndNew ends the new descendants of the process: TERM, and KILL after grace. The process itself and its earlier
// descendants stay.
func (s Subtree) EndNew(request string, grace time.Duration) error { return s.endNew(request, grace) }

// EndSubtree ends the descendant pid and the descendants of pid, and new orphans that have the marker of request or of
// the process itself.
func (s Subtree) EndSubtree(pid int, request string, grace time.Duration) error {
	return s.endSubtree(pid, request, grace)
}
