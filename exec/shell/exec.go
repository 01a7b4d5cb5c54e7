// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Run runs c in the shell itself, one command at a time, so that its changes stay, or in a copy of it. It returns the
// status of c in bash, when c has ended. When ctx ends, all processes that c started end, and the error is the cause of
// ctx. If bash then stops c, the shell keeps its state; otherwise bash is ended. If bash has ended by itself, or was
// removed, the error is a TerminatedError.
func (s *Shell) Run(ctx context.Context, b StartConfig, c Command, o Output) (int, error) {
	if err := s.takeTurn(ctx, c, o); err != nil {
		return 0, err
	}
	release := sync.OnceFunc(func() { <-s.turn })
	defer release()
	ctx, cancel := c.within(ctx)
	defer cancel()
	p, err := s.prepare(ctx, b, c)
	if err != nil {
		return 0, err
	}
	code, err := p.run(ctx, b, c, o, release)
	return code, s.table.withRemoval(s, err)
}

// busyNotice is the time after which a caller is notified that its command waits for its turn.
const busyNotice = 2 * time.Second

// BusyMessage returns the message that a command waits for its turn in the shell called name.
func BusyMessage(name string) string { return "shell " + name + " is busy: waiting for its turn" }

// takeTurn waits until no other command uses the shell exclusively.
func (s *Shell) takeTurn(ctx context.Context, c Command, o Output) error {
	if o.Queued != nil {
		o.Queued(c.ID)
	}
	late := time.NewTimer(busyNotice)
	defer late.Stop()
	for {
		select {
		case s.turn <- struct{}{}:
			return nil
		case <-late.C:
			if o.Waits != nil {
				o.Waits()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TimeoutError means that a command took longer than its Timeout.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("Command timeout after %dms", (e.After + time.Millisecond - 1).Milliseconds())
}

// KilledError means that a person has ended a command. Code is its exit code.
type KilledError struct {
	Code int
	Err  error
}

func (e *KilledError) Error() string { return e.Err.Error() }
func (e *KilledError) Unwrap() error { return e.Err }

// within returns a context that ends when the command's time is up.
func (c Command) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.Timeout, cmp.Or(c.TimeoutErr, error(&TimeoutError{c.Timeout})))
}

// delivered returns the error of a command that has ended with err, and whose output was passed on with the error out.
// A writer fails after the end of ctx because nothing waits for its reader any more.
func delivered(ctx context.Context, err, out error) error {
	if err == nil && out != nil {
		return cmp.Or(context.Cause(ctx), out)
	}
	return err
}

// maxNames limits the length of the names of a command's variables. The line after the command contains them,
// and is written into a pipe that bash reads only after the command.
const maxNames = 16 << 10

var errNames = errors.New("the names of its variables are longer than 16 KiB together")

// prepare checks c and returns the process that runs it, a new one if need be.
func (s *Shell) prepare(ctx context.Context, b StartConfig, c Command) (process, error) {
	if err := CheckEnv(c.Env); err != nil {
		return nil, err
	}
	if len(strings.Join(c.names(), " ")) > maxNames {
		return nil, errNames
	}
	return s.ensureProcess(ctx, b)
}
