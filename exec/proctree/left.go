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

// EndLost ends what lives of the requests ids of a watcher that was killed together with its
// keeper, so that nobody's child it is: TERM, KILL after grace. It returns when none is left,
// and reports whether there was any. What has cleared its environment, and has no parent left
// that did not, is not found.
func EndLost(ids []string, grace time.Duration) (bool, error) { return endLost(ids, grace) }

// Lingers reports whether anything lives of a process that was started with the marker id and
// has been reaped.
func Lingers(id string) bool { return lingers(id) }
