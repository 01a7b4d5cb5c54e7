// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Terminal stands among a command's descriptors for the terminal that its room makes.
const Terminal = -2

// Room is a place that is not this process's own, where commands run all the same: with
// the same descriptors, signals and status.
type Room interface {
	// Enter starts c with files as its 0, 1 and 2. Those that are Terminal are one of that
	// size, which the room makes. They stay the caller's. When ctx ends nothing is started.
	Enter(ctx context.Context, c Command, files [3]int, size *Winsize) (Guest, error)
}

// Guest is a command that was started in a Room. It must be reaped.
type Guest interface {
	PID() int                  // on the host
	Terminal() *os.File        // its terminal's other side, for the caller to close, or nil
	Signal(d Delivery)         // sends the command a signal
	Done() <-chan struct{}     // closed when the command has ended
	Stopped() <-chan struct{}  // receives when it was stopped
	End(d time.Duration) error // ends it and all with it: TERM, KILL after d
	Reap() syscall.WaitStatus  // waits for its end, and says how it did
}

// RunIn is Run in a room.
func (h *Host) RunIn(ctx context.Context, room Room, c Command, s Streams) (Status, error) {
	return h.runIn(ctx, room, c, s)
}
