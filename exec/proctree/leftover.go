// SPDX-License-Identifier: Apache-2.0

package proctree

import "time"

// Left is what lives of a command that has ended: its children may go on.
type Left struct {
	ID    string    // of the request
	PID   int       // of the process that has lived longest
	Args  []string  // its
	Since time.Time // when it was started, give or take a second
	Count int       // of processes
}

// AllLeft returns what lives of commands that have been reaped. They are known by Marker:
// what has cleared its environment is not found.
func AllLeft() []Left { return allLeft() }

// EndLeft ends what lives of the command of request id, which has been reaped: TERM, KILL
// after grace. It returns when none is left, and reports whether there was any.
func EndLeft(id string, grace time.Duration) (bool, error) { return endLeft(id, grace) }

// EndLost ends what lives of the commands of a session whose watcher and keeper were killed
// together, so that it was reparented: TERM, KILL after grace. It returns when none is left, and
// reports whether there was any. Processes are known by SessionMarker: one that has cleared its
// environment is found only below one that has not. This process and its ancestors are spared. Where
// it is a command of the session itself nothing is ended, and that is an error.
func EndLost(session string, grace time.Duration) (bool, error) { return endLost(session, grace) }

// Kept reports whether the keeper of a session runs, whose watcher serves folder: it ends what the
// watcher has left.
func Kept(folder, session string) bool { return kept(folder, session) }

// HasLeftovers reports whether anything lives of a process that was started with the marker id and
// has been reaped.
func HasLeftovers(id string) bool { return hasLeftovers(id) }
