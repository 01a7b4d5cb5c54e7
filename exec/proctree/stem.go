// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"syscall"
	"time"
)

// Stem is a process that lives on while what grows from it ends: a shell, whose commands
// come and go. It remembers what was there when it was looked at.
type Stem struct {
	id string // the marker that the process was started with
	stem
}

// LookAt returns the stem of a living process, which was started with the marker id.
func LookAt(pid int, id string) Stem { return lookAt(pid, id) }

// Alive reports whether the process still runs.
func (s Stem) Alive() bool { return s.alive() }

// Interrupt sends INT to the process and to all that has grown from it since, as ^C on
// its terminal would. Orphans are known by the marker of request.
func (s Stem) Interrupt(request string) { s.interrupt(request) }

// Signal sends a signal to the process alone, if it still is the one that was looked at.
func (s Stem) Signal(sig syscall.Signal) { s.signal(sig) }

// HangUp suspends the process and queues HUP, which ends it as soon as it is continued. Until then
// processes that are known only as its children can be found.
func (s Stem) HangUp() { s.hangUp() }

// Prune ends all that has grown from the process since: TERM, KILL after grace. The process
// itself, and what grew before, stays.
func (s Stem) Prune(request string, grace time.Duration) error { return s.prune(request, grace) }

// Cut ends the descendant pid and all that has grown from it.
func (s Stem) Cut(pid int, request string, grace time.Duration) error {
	return s.cut(pid, request, grace)
}
