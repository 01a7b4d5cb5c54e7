// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// settled is the reply to an accepted decision.
type settled struct {
	Status string `json:"status"`
	ID     string `json:"id"`
}

var idForm = names.Form{Chars: "0-9a-f", Min: 1, Max: 32}

// approve answers POST /approve/{id}. The body must name the question as it was shown.
func (p *Page) approve(w http.ResponseWriter, r *http.Request) {
	var d control.Decision
	switch err := body(w, r, &d); {
	case tooMuch(w, err):
	case err != nil:
		fail(w, http.StatusBadRequest, "not a decision: "+err.Error())
	case d.Digest == "" || len(d.Waiting) == 0:
		fail(w, http.StatusBadRequest, "not a decision: it lacks the digest and the waiting requests that were shown")
	default:
		terms, err := d.Terms()
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		done := &decisionResult{Approved, describeTerms(terms)}
		p.decide(w, r, done, func(q *control.Question) (settle, bool) {
			if rule, err := q.VaryLine(terms.Vary); err == nil && rule != "" {
				done.held += ": " + rule
			}
			changed := q.Digest != d.Digest
			q.Digest, q.Waiting = d.Digest, d.Waiting
			return approving(terms), !changed
		})
	}
}

// approving returns the client method that approves a question once or on terms.
func approving(t approval.Terms) settle {
	if t == (approval.Terms{}) {
		return (*control.Client).Approve
	}
	return func(c *control.Client, ctx context.Context, q control.Question) error { return c.Grant(ctx, q, t) }
}

// deny answers POST /deny/{id}. The body with a reason may be missing or invalid: the denial still counts.
// If the body has a digest, it must match the question.
func (p *Page) deny(w http.ResponseWriter, r *http.Request) {
	var d control.Decision
	if err := body(w, r, &d); err != nil {
		if tooMuch(w, err) {
			return
		}
		d = control.Decision{}
	}
	if d.For != "" || d.Times != 0 || d.Vary != "" { // a denial holds once or until the session ends
		fail(w, http.StatusBadRequest, approval.ErrTerms.Error())
		return
	}
	held := describeTerms(approval.Terms{Always: d.Always})
	p.decide(w, r, &decisionResult{Denied, held}, func(q *control.Question) (settle, bool) {
		deny := func(c *control.Client, ctx context.Context, q control.Question) error {
			if d.Always {
				return c.DenyAlways(ctx, q, d.Reason)
			}
			return c.Deny(ctx, q, d.Reason)
		}
		return deny, d.Digest == "" || d.Digest == q.Digest
	})
}

// decisionResult is the result of a question if the decision succeeds.
type decisionResult struct {
	Outcome
	held string // how long the decision holds; empty: once
}

func settledHere(q control.Question, done *decisionResult) card {
	c := newEndedCard(q, done.Outcome)
	c.SettledHere, c.Held = true, done.held
	return c
}

// settle is a method of control.Client that answers a question.
type settle func(*control.Client, context.Context, control.Question) error

// decide sends a decision on request {id} to the watcher of its session. judge chooses the method and
// reports whether the question is still the one that was shown. It may change done.
func (p *Page) decide(w http.ResponseWriter, r *http.Request, done *decisionResult, judge func(*control.Question) (settle, bool)) {
	id := r.PathValue("id")
	now, found := p.find(r.Context(), id)
	if !idForm.Matches(id) || !found {
		p.refuse(w, r, control.Question{ID: id}, approval.ErrUnknown)
		return
	}
	short := now
	now, err := p.whole(r.Context(), now)
	if err != nil {
		p.refuse(w, r, short, err)
		return
	}
	shown := now
	settle, same := judge(&shown)
	err = approval.ErrChanged
	if same {
		ctx, cancel := context.WithTimeout(r.Context(), asking)
		defer cancel()
		c := control.Dial(p.Store.Dir(now.Session))
		defer c.Close()
		err = settle(c, ctx, shown)
	}
	if err != nil {
		p.refuse(w, r, now, err)
		return
	}
	p.state.recordAnswer(short, done.Outcome)
	if wantsHTML(r) {
		render(w, http.StatusOK, "settled", settledHere(short, done))
		return
	}
	control.Reply(w, http.StatusOK, settled{Status: string(done.Outcome), ID: id})
}

// refuse sends the reason why a decision was not accepted, with the current state of the question.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, now control.Question, err error) {
	var vary *approval.VaryError
	switch {
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, control.ErrNoWatcher):
		if wantsHTML(r) {
			render(w, http.StatusNotFound, "settled", p.state.endedCard(now))
			return
		}
		fail(w, http.StatusNotFound, "request not found")
	case errors.Is(err, approval.ErrChanged):
		if wantsHTML(r) {
			render(w, http.StatusConflict, "request", card{Request: request(now), Changed: true})
			return
		}
		q := request(now)
		control.Reply(w, http.StatusConflict, problem{Error: err.Error(), Request: &q})
	case errors.Is(err, approval.ErrTerms), errors.Is(err, approval.ErrNoInputs), errors.As(err, &vary):
		fail(w, http.StatusBadRequest, err.Error())
	case errors.Is(err, control.ErrCalled):
		fail(w, http.StatusForbidden, err.Error())
	default:
		fail(w, http.StatusBadGateway, err.Error())
	}
}

// kill answers POST /kill/{id}.
func (p *Page) kill(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	dir, ok := p.running(r.Context(), id)
	if !ok {
		fail(w, http.StatusNotFound, control.ErrNotRunning.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), asking)
	defer cancel()
	c := control.Dial(dir)
	defer c.Close()
	switch err := c.Kill(ctx, id); {
	case errors.Is(err, control.ErrNotRunning), errors.Is(err, control.ErrNoWatcher):
		fail(w, http.StatusNotFound, control.ErrNotRunning.Error())
	case errors.Is(err, control.ErrCalled):
		fail(w, http.StatusForbidden, err.Error())
	case err != nil:
		fail(w, http.StatusBadGateway, err.Error())
	default:
		control.Reply(w, http.StatusOK, settled{Status: "killed", ID: id})
	}
}
