// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"time"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// runCopy runs c in a copy of the shell.
func (p *hostProcess) runCopy(ctx context.Context, c Command, o Output, release func()) (int, error) {
	r, err := p.fork(ctx, c)
	release()
	if err != nil {
		return 0, err
	}
	defer r.files.remove()
	if o.Started != nil {
		o.Started(c.ID, r.pid)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer o.expireWith(ctx)()
	t := r.files.follow(o, fail)
	code, err := r.wait(ctx)
	if err != nil && context.Cause(ctx) != nil {
		r.end(p.table.graceFor(ctx))
	}
	return code, delivered(ctx, err, t.finish())
}

// copyRun is a command while it runs in a copy of the shell.
type copyRun struct {
	run
	pid  int // of the copy
	copy proctree.Subtree
}

// fork makes the shell copy itself. The caller holds the turn.
func (p *hostProcess) fork(ctx context.Context, c Command) (*copyRun, error) {
	f, err := p.open(c.ID)
	if err != nil {
		return nil, err
	}
	r := &copyRun{run: run{process: p, files: f, command: c, subtree: proctree.NewSubtree(p.bashPID, p.id)}}
	n := f.names()
	if err = f.write(c.background(n, p), ""); err == nil {
		if err = p.writeLine(n.fork()); err != nil {
			err = p.waitDeath()
		}
	}
	if err == nil {
		err = r.await(ctx)
	}
	if err != nil {
		f.remove()
		return nil, err
	}
	return r, nil
}

// await waits until the copy has reported its pid.
func (r *copyRun) await(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if pid, ok := r.files.pid(); ok {
			r.pid, r.copy = pid, proctree.NewSubtree(pid, r.process.id)
			return nil
		}
		select {
		case <-r.files.wakeups():
		case <-tick.C:
		case <-ctx.Done():
			r.endProcesses(r.process.table.graceFor(ctx))
			return context.Cause(ctx)
		case <-r.process.dead:
			return &TerminatedError{Code: r.process.code}
		}
	}
}

// wait returns the status of the copy, which may outlive its shell. If it died without a status, it was killed together
// with the process that reports it. While the shell runs, wait allows some seconds for the report.
func (r *copyRun) wait(ctx context.Context) (int, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	patience := int(r.process.table.replyTimeout() / pollInterval)
	for silent, orphaned := 0, 0; ; {
		if code, ok := r.files.exited(); ok {
			return code, nil
		}
		select {
		case <-r.files.wakeups():
		case <-tick.C:
			switch {
			case r.copy.Alive():
				silent, orphaned = 0, 0
			case r.process.usable():
				if silent++; silent > patience {
					return 0, &TerminatedError{Code: 128 + 9}
				}
			default:
				if orphaned++; orphaned > 2 {
					return 0, &TerminatedError{Code: r.process.code}
				}
			}
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// end ends the copy and its tree. grace is between TERM and KILL.
func (r *copyRun) end(grace time.Duration) {
	if err := r.subtree.EndSubtree(r.pid, r.command.ID, grace); err != nil {
		r.process.table.Log.Error("end a command of a shell", "request", r.command.ID, "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r.wait(ctx) // for its exit file, which is not removed elsewhere
}
