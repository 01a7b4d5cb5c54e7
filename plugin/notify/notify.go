// SPDX-License-Identifier: Apache-2.0

// Package notify tells a person, safely, that something waits for them.
//
// Its one law: nothing that a container said reaches a terminal or a program through it.
// It knows nothing of what waits.
package notify

// Terminal is the terminal on which a session was started. Its zero value is none.
type Terminal struct {
	Path   string
	Leader int    // of its session: the login shell, mostly
	Born   uint64 // when the leader was, proc_pid_stat(5), so that its pid means no other
}
