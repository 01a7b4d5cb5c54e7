// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"time"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Start runs c in a copy of the shell, which it does not hold up: what c changes is lost.
// Otherwise it is Exec; when ctx ends the copy ends, and all that descends from it.
func (s *Shell) Start(ctx context.Context, b Birth, c Command, o Output) (int, error) {
	j, err := s.fork(ctx, b, c)
	if err != nil {
		return 0, err
	}
	defer j.files.remove()
	if o.Started != nil {
		o.Started(j.pid)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	t := j.files.follow(o, fail)
	code, err := j.wait(ctx)
	if err != nil && context.Cause(ctx) != nil {
		j.end()
	}
	return code, errors.Join(err, unless(err, t.finish()))
}

// job is a command while it runs in a copy of the shell.
type job struct {
	run
	pid  int // of the copy
	copy proctree.Stem
}

// fork has the shell copy itself, as soon as it is free.
func (s *Shell) fork(ctx context.Context, b Birth, c Command) (*job, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l, f, err := s.prepare(b, c)
	if err != nil {
		return nil, err
	}
	j := &job{run: run{shell: s, life: l, files: f, command: c, stem: proctree.LookAt(l.pid, l.id)}}
	if err = write(f.script, c.background(f, l)); err == nil {
		if err = l.say(f.fork()); err != nil {
			err = l.death()
		}
	}
	if err == nil {
		err = j.await(ctx)
	}
	if err != nil {
		f.remove()
		return nil, err
	}
	return j, nil
}

// await waits until the copy has said its pid.
func (j *job) await(ctx context.Context) error {
	tick := time.NewTicker(polling)
	defer tick.Stop()
	for {
		if pid, ok := number(j.files.pidFile()); ok {
			j.pid, j.copy = pid, proctree.LookAt(pid, j.life.id)
			return nil
		}
		select {
		case <-j.files.rung:
		case <-tick.C:
		case <-ctx.Done():
			j.prune()
			return context.Cause(ctx)
		case <-j.life.ended:
			return &TerminatedError{j.life.status.Code}
		}
	}
}

// wait returns how the copy ended. It may outlive its shell; one that died without a word
// was killed with what was to tell of it.
func (j *job) wait(ctx context.Context) (int, error) {
	tick := time.NewTicker(polling)
	defer tick.Stop()
	for silent := 0; ; {
		if code, ok := number(j.files.exitFile()); ok {
			return code, nil
		}
		select {
		case <-j.files.rung:
		case <-tick.C:
			if j.life.alive() || j.copy.Alive() {
				silent = 0
			} else if silent++; silent > 2 {
				return 0, &TerminatedError{j.life.status.Code}
			}
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// end ends the copy and its tree.
func (j *job) end() {
	if err := j.stem.Cut(j.pid, j.command.ID, j.shell.pool.grace()); err != nil {
		j.shell.pool.Log.Error("end a command of a shell", "request", j.command.ID, "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	j.wait(ctx) // for its last word, which nobody else removes
}
