// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/broadcast"
	"github.com/docker-hostexec/hostexec/exec/git"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// commandTurns lets commands of a session run one after the other if necessary. Otherwise a git command could add
// submodules that another, already checked, would enter. Previews run one at a time. The zero value is ready.
type commandTurns struct {
	freed broadcast.Event // another command has left

	mu       sync.Mutex // guards the fields below
	entering int        // commands of the kind EntersSubmodules that run
	changing bool       // a command of the kind Changes runs
}

// turnTimeout limits the time for which a command waits for others, which a container can make run for ever.
const turnTimeout = 5 * time.Second

var errGitBusy = errors.New("another git command of this session runs, and one of the two may change the index or the configuration: try again when it has ended")

// take waits until a command of the kind o may run. release may be called more than once.
func (t *commandTurns) take(ctx context.Context, o git.Overlap) (release func(), err error) {
	if o == git.Independent {
		return func() {}, nil
	}
	late := time.NewTimer(turnTimeout)
	defer late.Stop()
	for {
		freed := t.enter(o)
		if freed == nil {
			return sync.OnceFunc(func() { t.leave(o) }), nil
		}
		select {
		case <-freed:
		case <-late.C:
			return nil, errGitBusy
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// enter counts a command in and returns nil, or returns a channel that is closed when it may try again.
func (t *commandTurns) enter(o git.Overlap) (freed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.changing || o == git.Changes && t.entering > 0:
		return t.freed.Next()
	case o == git.Changes:
		t.changing = true
	default:
		t.entering++
	}
	return nil
}

func (t *commandTurns) leave(o git.Overlap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o == git.Changes {
		t.changing = false
	} else {
		t.entering--
	}
	t.freed.Send()
}

// overlap returns how v may conflict with other git commands, if rules trust a repository.
func overlap(p *policy.Policy, name string, v *policy.Verdict) git.Overlap {
	gitDir := p.Rules[name].GitDir
	if gitDir == "" || v.Place.InContainer() || !isGit(name) && !isGit(filepath.Base(v.Command.Path)) {
		return git.Independent
	}
	return git.Overlaps(v.Args, gitDir == policy.GitHost)
}

// endTurn lets other git commands run.
func (dc *decidedCall) endTurn() {
	if dc.turn != nil {
		dc.turn()
	}
}
