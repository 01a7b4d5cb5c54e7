// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Exec runs c in the shell itself, alone, so that what it changes stays changed, and returns
// the status that bash has of it. When ctx ends all that c started ends, the shell stays as
// it is then, and the error is ctx's cause. The error is a TerminatedError when the shell
// itself has ended.
func (s *Shell) Exec(ctx context.Context, b StartConfig, c Command, o Output) (int, error) {
	if err := s.takeTurn(ctx, o); err != nil {
		return 0, err
	}
	defer func() { <-s.turn }()
	ctx, cancel := c.within(ctx)
	defer cancel()
	l, d, err := s.prepare(ctx, b, c)
	if err != nil {
		return 0, err
	}
	defer d.remove()
	text := ""
	if c.substitutes() {
		text = c.Text + "\n"
	}
	n := d.names()
	if err := d.write(c.foreground(n, l), text); err != nil {
		return 0, err
	}
	r := &run{shell: s, process: l, files: d, command: c, subtree: l.look(c.ID)}
	if o.Started != nil {
		o.Started(c.ID, l.pid)
	}
	if err := l.writeLine(n.source() + c.after(n)); err != nil {
		return 0, l.waitDeath()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	t := d.follow(o, fail)
	code, err := r.wait(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		r.interrupt(r.shell.pool.graceFor(ctx))
	} else if err == nil {
		l.last = code
		d.reuse()
	}
	return code, errors.Join(err, unless(err, t.finish()))
}

// busyNotice is how long a command waits for its turn before that is told.
const busyNotice = 2 * time.Second

// Busy says that a command waits for its turn in the shell of that name.
func Busy(name string) string { return "shell " + name + " is busy: waiting for its turn" }

// takeTurn waits until no other command has the shell to itself.
func (s *Shell) takeTurn(ctx context.Context, o Output) error {
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

// TimeoutError says that a command took longer than its Timeout.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("Command timeout after %dms", e.After.Milliseconds())
}

// within returns a context that ends when the command's time is up.
func (c Command) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.Timeout, cmp.Or(c.TimeoutErr, error(&TimeoutError{c.Timeout})))
}

// unless is err when there is no other error that explains it.
func unless(other, err error) error {
	if other != nil {
		return nil
	}
	return err
}

// maxNames is how long the names of a command's variables may be: the line after it has them,
// and is written into a pipe that nobody reads before the command ends.
const maxNames = 16 << 10

var errNames = errors.New("the names of its variables are longer than 16 KiB together")

// prepare has the process and the files ready for c.
func (s *Shell) prepare(ctx context.Context, b StartConfig, c Command) (*shellProcess, commandFiles, error) {
	if err := CheckEnv(c.Env); err != nil {
		return nil, nil, err
	}
	if len(strings.Join(c.names(), " ")) > maxNames {
		return nil, nil, errNames
	}
	l, err := s.ensureProcess(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	d, err := l.open(c.ID, b)
	return l, d, err
}

// run is a command while it runs in the shell itself.
type run struct {
	shell   *Shell
	process *shellProcess
	files   commandFiles
	command Command
	subtree subtree
}

// wait returns how the command ended: as soon as its file is there, or its shell is not.
func (r *run) wait(ctx context.Context) (int, error) {
	tick := time.NewTicker(polling)
	defer tick.Stop()
	for {
		if code, ok := r.files.exited(); ok {
			return code, nil
		}
		select {
		case <-r.files.wakeups():
		case <-tick.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-r.process.ended:
			if code, ok := r.files.exited(); ok { // and then somebody killed it
				return code, nil
			}
			return 0, &TerminatedError{r.process.code}
		}
	}
}

// interrupt ends what the command started and has the shell give it up. grace is between TERM and KILL.
func (r *run) interrupt(grace time.Duration) {
	code, ok := r.giveUp(grace)
	r.prune(grace) // what it left in the background
	if ok && r.process.writeLine(afterInterrupt) == nil {
		r.process.last = code
		return
	}
	r.process.kill()
	<-r.process.ended
}

// giveUp makes the shell give the command up, as ^C would: both have to hear it, or bash
// goes on with the next line of the text. It does so too when the last of a pipe ends of
// that alone, for which there is the other signal. What is deaf to INT ends by TERM and KILL.
func (r *run) giveUp(grace time.Duration) (code int, ok bool) {
	r.subtree.Signal(giveUp)
	for pause := 50 * time.Millisecond; pause < 400*time.Millisecond; pause *= 2 {
		r.subtree.Interrupt(r.command.ID)
		if code, err := r.waitFor(pause); err == nil || !r.process.alive() {
			return code, err == nil
		}
	}
	r.subtree.Signal(giveUp)
	pruned := make(chan struct{})
	defer func() { <-pruned }()
	// ends when nothing is left, or grace and some seconds are over; waited for above.
	go func() {
		defer close(pruned)
		r.prune(grace)
	}()
	for late := time.Now().Add(grace + r.shell.pool.replyTimeout()); time.Now().Before(late); {
		if code, err := r.waitFor(100 * time.Millisecond); err == nil || !r.process.alive() {
			return code, err == nil
		}
		// An INT may have met the line that tells of the end.
		if r.process.writeLine(r.command.again(r.files.names())) != nil {
			break
		}
		if code, err := r.waitFor(200 * time.Millisecond); err == nil {
			return code, true
		}
		r.subtree.Interrupt(r.command.ID)
	}
	return 0, false
}

// waitFor is wait, for no longer than d.
func (r *run) waitFor(d time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return r.wait(ctx)
}

func (r *run) prune(grace time.Duration) {
	if err := r.subtree.EndNew(r.command.ID, grace); err != nil {
		r.shell.pool.Log.Error("end a command of a shell", "request", r.command.ID, "error", err)
	}
}
