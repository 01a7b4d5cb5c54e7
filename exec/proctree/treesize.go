// SPDX-License-Identifier: Apache-2.0

package proctree

// Size is the number of live processes of a command, with its descendants.
type Size struct {
	ID      string // of the request, the marker of a shell, or the session of an agent; empty: children of this process without a marker, mostly orphans
	Count   int
	Running bool // the command has not been reaped; of other trees, the ID is what their processes claim
}

// Sizes returns the sizes of the trees of all commands, also of ended commands that have left processes.
func Sizes() []Size { return sizes() }

// EndNow ends all processes of the command id by KILL. It returns when none is left. The empty id means orphans without
// a marker, but not processes that the calling process has started by os/exec.
func EndNow(id string) error { return endNow(id) }
