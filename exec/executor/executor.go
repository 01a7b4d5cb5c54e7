// SPDX-License-Identifier: Apache-2.0

// Package executor runs commands on the host.
//
//	Streams.In --pipe or pty--> command --pipe or pty--> Streams.Out, Streams.Err
//	descriptors of the caller's -------^
//
// Its one law: Run returns as soon as the command has ended and what it wrote by then
// is through; what it left running neither holds the answer nor dies of it; and when
// the context ends nothing of the command's tree stays. It does not decide what may
// run, and it does not know who called.
package executor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Signal is a signal's name without SIG: "TERM", "USR1".
type Signal = string

// Delivery is a signal for a command.
type Delivery struct {
	Signal Signal
	// Group sends it to the foreground group of the command's terminal, or without a terminal to
	// the command's process group. Else the command alone gets it.
	Group bool
}

// Winsize is the size of a terminal.
type Winsize struct{ Rows, Cols, X, Y uint16 }

// Command is what to run.
type Command struct {
	ID       string   // of the request; the command and its descendants carry it in their environment
	Path     string   // absolute
	Args     []string // with argv[0]
	Env      []string
	Dir      int  // a held directory, which stays the caller's
	NewPrivs bool // setuid programs work, as sudo does
	Leave    bool // what it leaves running outlives Close
	Adopt    bool // what it leaves running stays in its process tree, marker or not
}

// Streams are what a command's descriptors 0, 1 and 2 are joined to.
type Streams struct {
	// FD are descriptors that become the command's own, or -1. They stay the caller's,
	// who may close them once Started was called.
	FD [3]int
	// In is pumped into the command's stdin when FD[0] is -1; nil is /dev/null. Run
	// closes it when the command reads no more or has ended, which must end a Read.
	In io.ReadCloser
	// Out and Err take what the command writes when FD[1] and FD[2] are -1; nil is
	// /dev/null. A Write may block; the caller sees to it that it ends when the context does.
	Out, Err io.Writer
	// SameOut makes 1 and 2 one pipe, whose bytes go to Out.
	SameOut bool
	// TTY gives the command a terminal of this size, to which In and Out are the other
	// side. 2 is the terminal as well when FD[2] is -1 and Err is nil.
	TTY *Winsize

	Resize  <-chan Winsize  // read until Run returns; nil when unused
	Signals <-chan Delivery // read until Run returns

	Started  func(pid int) // called once, before any byte is pumped
	Stopped  func()        // the command was stopped; the caller stops and sends CONT later
	InClosed func()        // the command reads no more of In
}

// Status is how a command ended.
type Status struct {
	Code     int    // 128+n when a signal ended it
	Signal   Signal // "" when it exited
	Core     bool
	Consumed uint64 // bytes of In that the command took
}

// Graceful is a context's cause that says how long a command's process tree has between TERM and KILL.
type Graceful interface {
	error
	Grace() time.Duration
}

// Host runs commands as processes of this one.
type Host struct {
	Grace   time.Duration // between TERM and KILL; 5 s when zero; set while no Run goes on
	Session string        // the session's id, in the environment of all commands; set before the first Run
	log     *slog.Logger
	host
}

// NewHost prepares this process to run commands: it adopts orphans, no descriptor is
// inherited by chance, and signals that are ignored here are not ignored by commands.
func NewHost(log *slog.Logger) (*Host, error) {
	h := &Host{log: log}
	if err := h.open(); err != nil {
		return nil, fmt.Errorf("prepare to run commands: %w", err)
	}
	return h, nil
}

// Run runs c between s and returns how it ended. An error that wraps fs.ErrNotExist or
// fs.ErrPermission says that it could not be started for that reason. When ctx ends the
// whole tree ends, and the error is ctx's cause; the status is right all the same if
// Started was called.
func (h *Host) Run(ctx context.Context, c Command, s Streams) (Status, error) {
	return h.run(ctx, c, s)
}

// Close ends whatever commands left running, but for those with Leave, and returns when it
// is gone. It is called once, after every Run has returned.
func (h *Host) Close() error { return h.close() }
