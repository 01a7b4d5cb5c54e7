// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// run implements process.
func (p *hostProcess) run(ctx context.Context, _ StartConfig, c Command, o Output, release func()) (int, error) {
	if c.Copy {
		return p.runCopy(ctx, c, o, release)
	}
	f, err := p.open(c.ID)
	if err != nil {
		return 0, err
	}
	defer f.remove()
	text := ""
	if c.substitutes() {
		text = c.Text + "\n"
	}
	n := f.names()
	if err := f.write(c.foreground(n, p), text); err != nil {
		return 0, err
	}
	r := &run{process: p, files: f, command: c, subtree: proctree.NewSubtree(p.bashPID, p.id)}
	if o.Started != nil {
		o.Started(c.ID, p.bashPID)
	}
	if err := p.writeLine(n.source() + c.after(n) + readAhead); err != nil {
		return 0, p.waitDeath()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer o.expireWith(ctx)()
	t := f.follow(o, fail)
	code, err := r.wait(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		r.interrupt(p.table.graceFor(ctx))
	} else if err == nil {
		p.last = code
		f.reuse()
	}
	return code, delivered(ctx, err, t.finish())
}

// run is a command while it runs in the shell itself.
type run struct {
	process *hostProcess
	files   *files
	command Command
	subtree proctree.Subtree

	interrupted bool // the line that reports the end may be lost
}

// wait returns the result of the command, as soon as its exit file exists or its shell is dead. It ends a shell that
// has executed all its lines and has not reported the end. The text may have forbidden that, for example by set -r.
func (r *run) wait(ctx context.Context) (int, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if code, ok := r.files.exited(); ok {
			return code, nil
		}
		select {
		case <-r.files.wakeups():
		case <-tick.C:
			if n, err := queued(r.process.in); r.interrupted || n > 0 || err != nil {
				continue
			}
			if code, ok := r.files.exited(); ok {
				return code, nil
			}
			if fi, err := os.Stat(r.files.done + ".exit"); err == nil && fi.Size() > 0 {
				continue // it cannot be read now
			}
			r.process.kill()
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-r.process.dead:
			if code, ok := r.files.exited(); ok { // and then another process killed it
				return code, nil
			}
			return 0, &TerminatedError{Code: r.process.code}
		}
	}
}

// interrupt ends the processes that the command started, and makes the shell give up the command. grace is the
// time between TERM and KILL.
func (r *run) interrupt(grace time.Duration) {
	r.interrupted = true
	code, ok := r.giveUp(grace)
	r.endProcesses(grace) // background processes of the command
	if ok && r.process.writeLine(afterInterrupt) == nil {
		r.process.last = code
		return
	}
	r.process.kill()
	<-r.process.dead
}

// giveUp makes the shell stop the command, as ^C would. bash gets a signal whose trap sends INT to it between two
// commands, and all other processes get INT. Bash itself gets INT only if that is not enough, for example in a long
// arithmetic loop. INT would end bash 5.3 while its builtin wait runs in a sourced file. Processes that ignore INT end
// by TERM and KILL.
func (r *run) giveUp(grace time.Duration) (code int, ok bool) {
	sig := giveUpSignal
	for pause := 50 * time.Millisecond; pause < 400*time.Millisecond; pause *= 2 {
		r.signal(sig)
		sig = syscall.SIGINT
		if code, err := r.waitFor(pause); err == nil || !r.process.usable() {
			return code, err == nil
		}
	}
	r.signal(giveUpSignal)
	processesEnded := make(chan struct{})
	defer func() { <-processesEnded }()
	// ends when nothing is left, or grace and some seconds are over; waited for above.
	go func() {
		defer close(processesEnded)
		r.endProcesses(grace)
	}()
	for late := time.Now().Add(grace + r.process.table.replyTimeout()); time.Now().Before(late); {
		if code, err := r.waitFor(100 * time.Millisecond); err == nil || !r.process.usable() {
			return code, err == nil
		}
		// An INT may have interrupted the line that reports the end.
		if r.process.writeLine(r.command.afterIfLost(r.files.names())) != nil {
			break
		}
		if code, err := r.waitFor(200 * time.Millisecond); err == nil {
			return code, true
		}
		r.signal(syscall.SIGINT)
	}
	return 0, false
}

// signal interrupts the command with sig. A bash that the command has stopped gets sig too, unless it was killed.
func (r *run) signal(sig syscall.Signal) {
	r.subtree.Interrupt(r.command.ID, sig)
	if !r.process.killed.Load() {
		r.subtree.Continue()
	}
}

// waitFor is wait with the time limit d.
func (r *run) waitFor(d time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return r.wait(ctx)
}

// endProcesses ends the processes that the command has started.
func (r *run) endProcesses(grace time.Duration) {
	if err := r.subtree.EndNew(r.command.ID, grace); err != nil {
		r.process.table.Log.Error("end a command of a shell", "request", r.command.ID, "error", err)
	}
}
