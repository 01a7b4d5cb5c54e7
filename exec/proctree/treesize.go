// SPDX-License-Identifier: Apache-2.0

package proctree

// Size is the number of live processes of a command, with its descendants.
type Size struct {
	ID      string // of the request, the marker of a shell, or the session of an agent; empty: children of this process without a marker, mostly orphans
	Count   int
	Claimed int // those of Count that have the ID only in their environment, and may have chosen it
}

// Sizes returns the sizes of the trees of all commands, also of ended commands that have left processes.
func Sizes() []Size { return sizes() }

// EndNow ends all processes of the command id by KILL. It returns when none is left. The empty id means orphans without
// a marker, but not processes that the calling process has started by os/exec.
func EndNow(id string) error { return endNow(id) }

// EndClaimed ends the orphans that claim to belong to the command id by KILL. It returns when none is left. Orphans in
// the POSIX session of a running command belong to that command, and are left alone.
func EndClaimed(id string) error { return endClaimed(id) }
