// SPDX-License-Identifier: Apache-2.0

// Package executor runs commands on the host, or in a place that a Backend provides, such as a call container.
//
//	Streams.In --pipe or pty--> command --pipe or pty--> Streams.Out, Streams.Err
//	descriptors of the caller's -------^
//
// Run returns as soon as the command has ended and its output has been delivered. Processes that the command leaves
// behind do not delay Run. In a call container they die with the command. In a sandbox they do, too, unless the command
// has LeaveProcesses. Elsewhere they survive it. When the context ends, Run ends the whole process tree. The package
// does not decide which commands may run, and does not know the caller.
package executor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// Signal is the name of a signal without SIG: "TERM", "USR1".
type Signal = string

// Delivery is a signal to send to a command.
type Delivery struct {
	Signal Signal
	// Group sends a signal that a key of a terminal can send, such as INT, to the foreground process group of the
	// command's terminal. It sends other signals, and all signals without a terminal, to the command's process group.
	// If Group is not set, only the command receives the signal.
	Group bool
}

// Winsize is the size of a terminal.
type Winsize struct{ Rows, Cols, X, Y uint16 }

// Command is a command to run.
type Command struct {
	ID             string   // of the request; stored in the environment of the command and its descendants
	Path           string   // absolute
	Args           []string // with argv[0]
	Env            []string
	Dir            int              // an open directory; the caller closes it
	NewPrivs       bool             // permits setuid programs, such as sudo
	LeaveProcesses bool             // processes that it leaves behind survive Close
	Sandbox        *sandbox.Sandbox // confines the command and its descendants; nil: not; not with NewPrivs
	Supervise      bool             // processes that it leaves behind stay in its process tree, even if they clear their environment; not with Sandbox or Streams.TTY
}

// Streams states how the descriptors 0, 1 and 2 of a command are connected.
type Streams struct {
	// FD holds descriptors that the command inherits, or -1. The caller closes them, at the
	// earliest when Started is called.
	FD [3]int
	// In is copied to the command's stdin if FD[0] is -1; nil means /dev/null. Run closes In when
	// the command closes its stdin or ends. Close must end a blocked Read.
	In io.ReadCloser
	// Out and Err receive the command's output if FD[1] and FD[2] are -1; nil means /dev/null. A
	// Write may block. The caller must ensure that it returns soon after the end of the context, because Run waits for
	// it: what the command has written before it was ended is still delivered.
	Out, Err io.Writer
	// SameOut connects 1 and 2 to one pipe, whose bytes go to Out.
	SameOut bool
	// TTY gives the command a terminal of this size, connected to In and Out. Descriptor 2 is the
	// terminal too if FD[2] is -1 and Err is nil.
	TTY *Winsize

	Resize  <-chan Winsize  // read until Run returns; may be nil
	Signals <-chan Delivery // read until Run returns

	Started  func(pid int) // called once, before any byte is copied
	Stopped  func()        // the command was stopped; the caller stops too and sends CONT later
	InClosed func()        // the command has closed its stdin
}

// Status is the result of a command.
type Status struct {
	Code     int    // 128+n after signal n
	Signal   Signal // "" if it exited
	Consumed uint64 // bytes of In that the command has read
}

// Graceful is a cancellation cause that sets the time between TERM and KILL for a command's process
// tree.
type Graceful interface {
	error
	Grace() time.Duration
}

// Host runs commands as child processes of this process.
type Host struct {
	Grace   time.Duration // time between TERM and KILL; 0: 5 s; set it only while no Run is active
	Session string        // the session's ID, in the environment of all commands; set it before the first Run
	log     *slog.Logger
	host
}

// NewHost prepares this process to run commands. It becomes a subreaper (prctl(2)). Commands inherit only the
// descriptors of their Streams, and no ignored signals.
func NewHost(log *slog.Logger) (*Host, error) {
	h := &Host{log: log}
	if err := h.open(); err != nil {
		return nil, fmt.Errorf("prepare to run commands: %w", err)
	}
	return h, nil
}

// Run runs c with the streams s and returns its status. If c could not start because of fs.ErrNotExist or
// fs.ErrPermission, the error wraps it, unless c.Dir cannot be entered. When ctx ends, Run ends the whole process tree
// and returns ctx's cause. In this case the status is valid if Started was called.
func (h *Host) Run(ctx context.Context, c Command, s Streams) (Status, error) {
	return h.run(ctx, c, s)
}

// Close ends all processes that commands left behind, except those of commands with LeaveProcesses. It
// returns when they are gone. Call it once, after every Run has returned.
func (h *Host) Close() error { return h.close() }
