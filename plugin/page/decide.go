// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// decisionReply is the reply to an accepted decision.
type decisionReply struct {
	Status  string         `json:"status"`
	ID      string         `json:"id"`
	Members []memberResult `json:"members,omitempty"` // if the decision was on several
}

// memberResult is the result of one of several questions.
type memberResult struct {
	ID     string `json:"id"`
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"` // why it was not settled
}

var idForm = names.Form{Chars: "0-9a-f", Min: 1, Max: 32}

// approve answers POST /approve/{id}. The body must name the questions as they were shown.
func (p *Page) approve(w http.ResponseWriter, r *http.Request) {
	var d cardDecision
	err := decodeBody(w, r, &d)
	shown, ok := d.questions(r.PathValue("id"))
	switch {
	case tooMuch(w, err):
	case err != nil:
		replyError(w, http.StatusBadRequest, "not a decision: "+err.Error())
	case !ok || shown[0].Digest == "" || len(shown[0].Waiting) == 0:
		replyError(w, http.StatusBadRequest, "not a decision: it lacks the digest and the waiting requests that were shown")
	default:
		terms, err := d.Terms()
		if err != nil {
			replyFailure(w, err)
			return
		}
		p.decide(w, r, shown, Approved, terms, func(c *control.Client, ctx context.Context, q control.Question) error {
			return c.Approve(ctx, q, terms)
		})
	}
}

// deny answers POST /deny/{id}. The body with a reason may be missing or invalid: the denial still counts.
// If the body has a digest, it must match the question.
func (p *Page) deny(w http.ResponseWriter, r *http.Request) {
	var d cardDecision
	if err := decodeBody(w, r, &d); err != nil {
		if tooMuch(w, err) {
			return
		}
		d = cardDecision{}
	}
	if d.For != "" || d.Times != 0 || d.Vary != "" { // a denial holds once or for this session
		replyFailure(w, approval.ErrTerms)
		return
	}
	shown, ok := d.questions(r.PathValue("id"))
	if !ok {
		replyError(w, http.StatusBadRequest, "not a decision: its members are not those of a card")
		return
	}
	p.decide(w, r, shown, Denied, approval.Terms{Always: d.Always}, func(c *control.Client, ctx context.Context, q control.Question) error {
		return c.Deny(ctx, q, d.Reason, d.Always)
	})
}

// decideTimeout is the time limit for a decision on all questions of a card. The reply has to be written within the
// server's own limit.
const decideTimeout = 3 * control.ReplyTimeout

// decide sends a decision on the questions shown to the watchers of their sessions, and replies with the results.
func (p *Page) decide(w http.ResponseWriter, r *http.Request, shown []*member, outcome Outcome, t approval.Terms, send answerFunc) {
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	all, _ := control.AllPending(ctx, p.Store) // questions of sessions that do not answer are not found
	var done []*member
	// The first question is answered last: the card has its id, so other browsers keep the card until then.
	for _, m := range slices.Backward(shown) {
		if p.answer(ctx, all, m, send); m.err == nil {
			done = append([]*member{m}, done...)
		}
	}
	if len(done) == 0 {
		p.refuse(w, r, shown)
		return
	}
	c := settledCard(shown, done, outcome)
	c.Held = describeTerms(t)
	if rule, err := done[0].now.VaryCommandLine(t.Vary); err == nil && rule != "" {
		c.Held += ": " + rule
	}
	p.state.recordAnswer(c, done)
	if wantsHTML(r) {
		c.SettledHere = true
		render(w, http.StatusOK, "settled", c)
		return
	}
	code, reply := http.StatusOK, decisionReply{Status: string(outcome), ID: r.PathValue("id")}
	if len(done) < len(shown) {
		code = http.StatusMultiStatus
	}
	if len(shown) > 1 {
		reply.Members = results(shown, outcome)
	}
	control.Reply(w, code, reply)
}

// results returns the results of the questions shown.
func results(shown []*member, outcome Outcome) (all []memberResult) {
	for _, m := range shown {
		one := memberResult{ID: m.ID, Status: string(outcome)}
		if m.err != nil {
			one.Status, one.Error = "", m.err.Error()
		}
		all = append(all, one)
	}
	return all
}

// refuse sends the reason why none of the questions shown was settled, with the current state of those that wait.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, shown []*member) {
	first := shown[max(0, slices.IndexFunc(shown, (*member).waits))]
	switch err := first.err; {
	case !first.waits():
		if wantsHTML(r) {
			render(w, http.StatusNotFound, "settled", p.state.endedCard(shown[0].now))
			return
		}
		replyError(w, http.StatusNotFound, "request not found")
	case errors.Is(err, approval.ErrChanged):
		if wantsHTML(r) {
			render(w, http.StatusConflict, "pending", changedCards(shown))
			return
		}
		q := newAPIQuestion(first.now)
		control.Reply(w, http.StatusConflict, problem{Error: err.Error(), Question: &q})
	default:
		replyFailure(w, err)
	}
}

// kill answers POST /kill/{id}.
func (p *Page) kill(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	dir, ok := p.running(r.Context(), id)
	if !ok {
		replyFailure(w, control.ErrNotRunning)
		return
	}
	switch err := control.WithClient(r.Context(), dir, func(c *control.Client, ctx context.Context) error { return c.Kill(ctx, id) }); {
	case errors.Is(err, control.ErrNoWatcher): // its commands have ended, too
		replyFailure(w, control.ErrNotRunning)
	case err != nil:
		replyFailure(w, err)
	default:
		control.Reply(w, http.StatusOK, decisionReply{Status: "killed", ID: id})
	}
}
