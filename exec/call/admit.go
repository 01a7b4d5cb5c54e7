// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/git"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// authorizedCall is what lets a request run: by which decision, where, and with what.
type authorizedCall struct {
	state  *SessionState
	v      policy.Verdict
	cwd    *dir.Dir
	runner Runner
	box    *sandbox.Sandbox // of a command that is confined, or nil
	env    []string
	notes  []string     // for a person: what Args do not say
	asks   *git.Problem // for the caller: why it is asked about what a rule allows, or nil
	copies *copies      // of operands, or nil
	copied *atomic.Int64
	turn   func() // ends its turn among git commands, or nil
}

// close lets go of what the warrant holds.
func (w *authorizedCall) close() {
	if w.cwd != nil {
		w.cwd.Close()
	}
	w.box.Close()
	w.copies.remove()
	w.endTurn()
}

// admit has the request decided, and asked about, and returns the warrant for it. Where it
// may not run there is none, and the caller has been told. It does so on a stack that goes
// when it is done: deciding needs a deep one, and running, which may last for days, does not.
func (s *Server) admit(ctx context.Context, p *peer, req *request) (w *authorizedCall, err error) {
	done := make(chan struct{})
	// ends with the decision, or with ctx.
	go func() {
		defer close(done)
		w, err = s.decideAndAsk(ctx, p, req)
	}()
	<-done
	return w, err
}

func (s *Server) decideAndAsk(ctx context.Context, p *peer, req *request) (w *authorizedCall, err error) {
	for {
		w, err = s.decide(ctx, p, req)
		if errors.Is(err, errRedecide) {
			continue
		}
		if w == nil || w.v.Action == policy.Allow {
			break
		}
		var ok bool
		if ok, err = s.ask(ctx, p, req, w); ok {
			break
		}
		w.close()
		if !errors.Is(err, errRedecide) {
			return nil, err
		}
	}
	req.env = nil // it may be large, and the command long
	if w != nil {
		w.notes = nil
	}
	return w, err
}

// decide asks the policy, and finds on the host what the request names. A request that is
// not denied gets a warrant.
func (s *Server) decide(ctx context.Context, p *peer, req *request) (*authorizedCall, error) {
	sc := s.now()
	w := &authorizedCall{state: sc, copied: &s.copied}
	var lost error
	w.cwd, lost = req.open(sc.Dirs)
	// What is known of a directory is known of the one that is held: the container can have
	// put another one in its place by now.
	s.decideInRepository(ctx, req, w)
	if req.Args[0] == policy.Shell && req.shell == nil {
		w.v = policy.Verdict{Reason: "not a command: hostexec session runs shells"}
	}
	deny := func(reason string, e Failure) (*authorizedCall, error) {
		w.close()
		return nil, errors.Join(s.deny(ctx, w, req, reason), p.end(e))
	}
	if w.v.Action == policy.Deny {
		return deny(w.v.Reason, refusal(sc, req, w.v, s.verbNames()))
	}
	if req.keep && w.v.Action == policy.Allow && !w.v.Keep {
		return deny(errKeepDenied.Error(), keepDenied(req, w.v))
	}
	if lost != nil {
		return deny(lost.Error(), workdirMismatch(sc, req, lost))
	}
	if err := sc.findProgram(&w.v); err != nil {
		return deny(err.Error(), cannotRun(req, w.v, err))
	}
	if err := w.operands(req); err != nil {
		return deny(err.Error(), cannotRun(req, w.v, err))
	}
	if err := s.capture(ctx, p, req, w); errors.Is(err, errRedecide) {
		w.close()
		return nil, err
	} else if err != nil {
		return deny(err.Error(), cannotRun(req, w.v, err))
	}
	if req.shell != nil {
		w.notes = append(w.notes, "in the shell "+req.shell.name+", where earlier commands may have changed what this one means")
	}
	w.notes = append(w.notes, passedValues(req.env, sc.PassEnv, w.v.Env)...)
	if err := s.findRunner(req, w); err != nil {
		return deny(err.Error(), cannotRun(req, w.v, err))
	}
	return w, nil
}
