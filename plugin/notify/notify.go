// SPDX-License-Identifier: Apache-2.0

// Package notify notifies the user of waiting requests.
//
// No text of a container may reach a terminal or a program through this package. It gets the number of waiting
// requests, but not the requests.
package notify

// Terminal is the terminal where a session was started. The zero value means none.
type Terminal struct {
	Path        string
	Leader      int    // pid of the session leader, usually the login shell
	LeaderStart uint64 // start time of the leader, proc_pid_stat(5), to detect a reused pid
}
