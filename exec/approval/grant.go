// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Grant is an approval that is valid beyond the callers that waited. It applies only to equal arguments in the same
// directory, by the same rule, for the same session. One argument may vary. The zero value is not valid.
type Grant struct {
	ID       string // 16 hex digits
	Question Question
	User     string // the user who made it
	Made     time.Time
	Until    time.Time        // zero: for this session
	Left     int              // remaining calls, or Unlimited
	Varying  *VaryingArgument // the argument that may differ; nil: none

	Unchanged *inputs.Set // the grant is valid only for these inputs; nil: for any

	digest string // of Question
}

// Unlimited is the value of Left of a grant for any number of calls.
const Unlimited = -1

// By returns the name under which calls that the grant approved are recorded.
func (g Grant) By() string { return "grant " + g.ID + g.varying() }

// varying returns the readable rule of a grant whose argument varies, after a colon.
func (g Grant) varying() string {
	if g.Varying == nil {
		return ""
	}
	short, _ := names.TruncateArgs([]string{g.Varying.CommandLine(g.Question.Named())}, names.MaxListed)
	return ": " + short[0]
}

// Summary describes the grant in the record of the approval that made it: its ID, and how long it holds.
func (g Grant) Summary() string {
	holds := "for this session"
	switch {
	case g.Left != Unlimited:
		holds = fmt.Sprintf("for this number of calls: %d", g.Left)
	case !g.Until.IsZero():
		holds = "until " + g.Until.UTC().Format(time.RFC3339)
	}
	if g.Unchanged != nil {
		holds += " while unchanged"
	}
	return g.ID + " " + holds + g.varying()
}

// valid reports whether g is valid for another call.
func (g Grant) valid(now time.Time) bool {
	switch {
	case g.Left == 0 || g.Left < Unlimited:
		return false
	case now.Round(0).Before(g.Made.Round(0)): // the clock was set back
		return false
	}
	return g.Until.IsZero() || !isPast(g.Until, now)
}

// Terms state how long an approval is valid. Exactly one of For, Times and Always must be set, or Unchanged alone. The
// zero value is not valid.
type Terms struct {
	For    time.Duration // for this time
	Times  int           // for this number of calls, including those that wait
	Always bool          // for this session

	Unchanged bool // in addition: only while the inputs are unchanged; alone, for this session; not with Vary

	Vary string // in addition: the argument that may differ, in the form of ParseVary
}

// grant returns a grant with these terms.
func (t Terms) grant(ask Question, by string, now time.Time) (Grant, error) {
	files := ask.Inputs
	ask = ask.identity()
	g := Grant{ID: names.RandomHex(8), Question: ask, User: by, Made: now, Left: Unlimited, digest: ask.Digest()}
	if t.Unchanged {
		if t.Vary != "" {
			return Grant{}, ErrTerms
		}
		if files.Digest() == "" {
			return Grant{}, ErrNoInputs
		}
		g.Unchanged = files.Kept()
		t.Always = t.Always || t == Terms{Unchanged: true}
		t.Unchanged = false
	}
	if t.Vary != "" {
		v, err := ask.VaryingArgument(t.Vary)
		if err != nil {
			return Grant{}, err
		}
		g.Varying, t.Vary = v, ""
	}
	switch t {
	case Terms{Always: true}:
		return g, nil
	case Terms{For: t.For}:
		g.Until = now.Add(t.For)
		if g.Until.After(now) {
			return g, nil
		}
	case Terms{Times: t.Times}:
		g.Left = t.Times
		if t.Times > 0 {
			return g, nil
		}
	}
	return Grant{}, ErrTerms
}

// Grant approves a question as Approve does, and approves later questions according to the terms.
// Callers that came after the question was shown are approved at once, because the grant covers
// them.
func (q *Queue) Grant(id, shownDigest string, shown []string, by string, t Terms) error {
	return q.decide(id, shownDigest, func(e *question) error {
		if !e.waits(shown) {
			return ErrChanged
		}
		now := time.Now()
		g, err := t.grant(e.Question, by, now)
		if err != nil {
			return err
		}
		callers, summary := e.callers(), g.Summary()
		if g.Left != Unlimited {
			callers = callers[:min(len(callers), g.Left)]
			g.Left -= len(callers)
		}
		if err := q.grants.add(g, now); err != nil { // approve nothing if the grant cannot be stored
			return err
		}
		q.settle(e, callers, Answer{Outcome: Approved, By: by, Grant: summary, Inputs: g.Unchanged.Digest()})
		delete(q.recentDenials, e.digest)
		if g.Varying != nil {
			q.settleCovered(now)
		}
		return nil
	})
}

// callers returns the waiting requests. Those with a connected caller come first.
func (e *question) callers() []string {
	var here, gone []string
	for _, w := range e.waiters {
		if w.disconnected {
			gone = append(gone, w.request)
		} else {
			here = append(here, w.request)
		}
	}
	return append(here, gone...)
}

// Granted reports whether a grant approves ask, and uses it for this one call. The error is set if
// a valid grant could not be used.
func (q *Queue) Granted(ask Question) (g Grant, ok bool, err error) {
	q.mu.Lock()
	noted := q.noted
	if len(q.grants.list) > 0 {
		g, ok, err = q.granted(&ask, ask.Digest(), time.Now())
	}
	q.mu.Unlock()
	if ok {
		await(noted)
	}
	return g, ok, err
}

// ApprovedInputs returns the inputs of the latest valid grant for which Unchanged.Call is call. It returns nil if there
// is no such grant.
func (q *Queue) ApprovedInputs(call string) *inputs.Set {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range slices.Backward(q.grants.valid(time.Now())) {
		if g.Unchanged != nil && g.Unchanged.Call == call {
			return g.Unchanged
		}
	}
	return nil
}

// Grants returns the valid grants, oldest first.
func (q *Queue) Grants() []Grant {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.grants.valid(time.Now())
}

// Revoke ends a grant: the next call asks again. It also removes stored approvals of the same
// question for callers that have left.
func (q *Queue) Revoke(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	digest, err := q.grants.remove(id)
	if err != nil {
		return err
	}
	q.answered = slices.DeleteFunc(q.answered, func(w *waiter) bool { return w.digest == digest })
	return nil
}
