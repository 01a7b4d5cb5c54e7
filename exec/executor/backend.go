// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Terminal is the value of a command's descriptor for the terminal that its Backend creates.
const Terminal = -2

// Backend runs commands elsewhere than as child processes of this process, for example in a container. Descriptors,
// signals and status work as on the host.
type Backend interface {
	// Start starts c with files as its descriptors 0, 1 and 2. For the value Terminal, the backend
	// creates a terminal of the given size. The caller closes files. If ctx has ended, nothing is
	// started.
	Start(ctx context.Context, c Command, files [3]int, size *Winsize) (BackendCommand, error)
}

// BackendCommand is a command that was started by a Backend. The caller must call Reap.
type BackendCommand interface {
	PID() int                  // on the host
	Terminal() *os.File        // the master of its terminal, closed by the caller, or nil
	Signal(d Delivery)         // sends a signal to the command
	Done() <-chan struct{}     // closed when the command has ended
	Exiting() bool             // whether it has ended, or is about to
	Stopped() <-chan struct{}  // receives a value when the command was stopped
	End(d time.Duration) error // ends the process tree: TERM, then KILL after d
	Reap() syscall.WaitStatus  // waits for the end and returns the status
}

// RunOn runs c by a Backend, like Run.
func (h *Host) RunOn(ctx context.Context, b Backend, c Command, s Streams) (Status, error) {
	return h.runIn(ctx, b, c, s)
}
