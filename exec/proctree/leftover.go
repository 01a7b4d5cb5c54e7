// SPDX-License-Identifier: Apache-2.0

package proctree

import "time"

// Leftover describes the processes that an ended command has left running.
type Leftover struct {
	ID    string    // of the request
	PID   int       // of the oldest process
	Args  []string  // of the oldest process
	Since time.Time // when it was started, to a hundredth of a second
	Count int       // of processes
}

// AllLeftovers returns the processes that reaped commands have left running. They are recognised by Marker, so a
// process that has cleared its environment is not found.
func AllLeftovers() []Leftover { return allLeftovers() }

// EndLeftovers ends the processes that the reaped command of request id has left: TERM, and KILL after grace. It
// returns when none is left, and reports whether there was any.
func EndLeftovers(id string, grace time.Duration) (bool, error) { return endLeftovers(id, grace) }

// EndSessionProcesses ends the processes of a session whose watcher and keeper were killed together: TERM, and KILL
// after grace. It returns when none is left, and reports whether there was any. Processes are recognised by
// SessionMarker. A process that has cleared its environment is found only below one that has the marker. This process
// and its ancestors are left out. If this process is a command of the session itself, EndSessionProcesses ends nothing
// and returns an error.
func EndSessionProcesses(session string, grace time.Duration) (bool, error) {
	return endSessionProcesses(session, grace)
}

// HasLeftovers reports whether processes are left of a command that was started with the marker id and has
// been reaped.
func HasLeftovers(id string) bool { return hasLeftovers(id) }
