// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// reminderInterval is how often a caller that waits for a person is told so again.
const reminderInterval = time.Minute

// maxShown is how many bytes of arguments a person is shown, and all that waits may hold.
const maxShown = 64 << 10

// size is how much text args are to a reader: an empty one is a line, too.
func size(args []string) (n int) {
	for _, arg := range args {
		n += len(arg) + 1
	}
	return n
}

// errRedecide says that the policy is not the one any more that had the request asked for.
var errRedecide = fmt.Errorf("the policy has changed: %w", approval.ErrWithdrawn)

// ask puts a request to a person, and reports whether it was approved. If it was not the
// caller has been told; unless the error is errRedecide: then nobody has decided anything.
func (s *Server) ask(ctx context.Context, p *peer, req *request, w *authorizedCall) (bool, error) {
	ask := w.question(req)
	if n := size(ask.Args) + size(ask.Notes); n > maxShown {
		a := approval.Answer{Outcome: approval.Refused, Reason: fmt.Sprintf("%d bytes to read are more than a person reads", n)}
		return false, errors.Join(s.deny(ctx, w, req, a.Reason), p.end(denied(req, w, a)))
	}
	grant, ok, err := s.Queue.Granted(ask)
	if ok {
		return approved(p, req, w, grant.By())
	}
	if err != nil { // then a person is asked
		s.Log.Error("grant", "request", req.ID, "error", err)
	}
	if !s.limitQuestions(ctx) {
		err := s.deny(ctx, w, req, "it was given up before anybody was asked")
		if errors.Is(context.Cause(ctx), errCallerDeadline) {
			return false, errors.Join(err, p.end(callerDeadlineExceeded(req, w.v.Rule)))
		}
		return false, errors.Join(err, fmt.Errorf("request %s: %w", req.ID, context.Cause(ctx)))
	}
	if err := w.note(req, audit.Record{Kind: audit.Request, Path: w.v.Program(), Dir: w.cwd.Path()}); err != nil {
		return false, fail(p, err, unwritten(err))
	}
	patience, done := req.waiting(ctx)
	defer done()
	a, changed := s.wait(patience, p, req, w)
	switch a.Outcome {
	case approval.Approved:
		return approved(p, req, w, a.By)
	case approval.Cancelled:
		if changed && ctx.Err() == nil {
			return false, errRedecide
		}
		if errors.Is(context.Cause(ctx), errCallerDeadline) {
			return false, errors.Join(w.note(req, audit.Record{Kind: audit.Timeout}), p.end(callerDeadlineExceeded(req, w.v.Rule)))
		}
		if errors.Is(context.Cause(patience), errCallerLeft) {
			return s.unanswered(p, req, w)
		}
		err := w.note(req, audit.Record{Kind: audit.Cancel})
		return false, errors.Join(err, fmt.Errorf("request %s: %w", req.ID, context.Cause(ctx)))
	case approval.TimedOut:
		return s.unanswered(p, req, w)
	}
	if a.By == "" { // nobody has read it
		return false, errors.Join(s.deny(ctx, w, req, a.Reason), p.end(denied(req, w, a)))
	}
	return false, errors.Join(w.note(req, audit.Record{Kind: audit.Deny, Reason: a.Reason, By: a.By}), p.end(denied(req, w, a)))
}

// unanswered ends a request that nobody answered in time.
func (s *Server) unanswered(p *peer, req *request, w *authorizedCall) (bool, error) {
	return false, errors.Join(w.note(req, audit.Record{Kind: audit.Timeout}), p.end(unanswered(req, w)))
}

// approved writes down who allowed it: what cannot be written down does not happen.
func approved(p *peer, req *request, w *authorizedCall, by string) (bool, error) {
	if err := w.note(req, audit.Record{Kind: audit.Approve, By: by}); err != nil {
		return false, fail(p, err, unwritten(err))
	}
	return true, nil
}

// question is what a person is asked of w.
func (w *authorizedCall) question(req *request) approval.Question {
	q := approval.Question{
		ID: req.ID, Args: w.v.Args, Cwd: req.Cwd, Dir: w.cwd.Path(), Path: w.v.Program(), Rule: w.v.Rule,
		Session: w.state.Session, Container: w.state.Container, Project: w.state.Project, Branch: w.state.Branch, Agent: w.state.Agent,
		Effects: w.v.Effects, Grade: w.v.Grade, Notes: w.notes,
	}
	if w.v.AskReason != "" {
		q.Notes = append([]string{"asked, although " + w.v.Rule + " allows it: " + w.v.AskReason}, q.Notes...)
	}
	if !slices.Equal(w.v.Args, req.Args) {
		q.Notes = append([]string{"called as " + names.Printable(shellescape.QuoteCommand(req.Args))}, q.Notes...)
	}
	switch {
	case req.keep:
		q.Notes = append(slices.Clip(q.Notes), "it goes on in the background, even when the container has ended, until it ends by itself or is stopped")
	case req.detached:
		q.Notes = append(slices.Clip(q.Notes), "it goes on in the background, without its caller")
	}
	return q
}

// wait asks, tells the caller that it waits, now and then again, and stops asking when the
// policy would not have it asked any more, or otherwise: then changed is true.
func (s *Server) wait(ctx context.Context, p *peer, req *request, w *authorizedCall) (a approval.Answer, changed bool) {
	told, done := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done(nil)
	asked := s.Queue.Changed()
	// ends when the question is answered, with told.
	wg.Go(func() {
		select {
		case <-asked: // what is refused without asking has not waited
		case <-told.Done():
			return
		}
		tick := time.NewTicker(reminderInterval)
		defer tick.Stop()
		p.send(wire.KindNotice, []byte(waiting(req)))
		for {
			next := s.stateChanged.listen()
			if s.otherwise(req, w) {
				done(errRedecide)
				return
			}
			select {
			case <-next:
			case <-tick.C:
				p.send(wire.KindNotice, []byte(waiting(req)))
			case <-told.Done():
				return
			}
		}
	})
	a = s.Queue.Ask(told, w.question(req))
	return a, context.Cause(told) == errRedecide
}

// otherwise reports whether req would be decided otherwise now than it was as w.
func (s *Server) otherwise(req *request, w *authorizedCall) bool {
	sc := s.state.Load()
	if sc.Policy == w.state.Policy {
		return false
	}
	v := sc.Policy.Decide(req.Request)
	v.Command.Path = cmp.Or(v.Command.Path, w.v.Command.Path) // what was looked up
	return v.Action != policy.Ask || v.Rule != w.v.Rule || v.Command != w.v.Command || v.Place != w.v.Place || !slices.Equal(v.Effects, w.v.Effects)
}
