// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Grant is an approval that holds for more than the callers that waited: of the same
// arguments to the byte, in the same directory, by the same rule, for the same session.
// It is never of more than that. Its zero value holds for nothing.
type Grant struct {
	ID       string // 16 hex digits
	Question Question
	User     string // who made it
	Made     time.Time
	Until    time.Time // zero: until the session ends
	Left     int       // calls that it is still good for, or Unlimited

	digest string // of Question
}

// Unlimited is what Left is of a grant for any number of calls.
const Unlimited = -1

// By is who allowed a call that a grant answered, as it is written down.
func (g Grant) By() string { return "grant " + g.ID }

// holds reports whether g is good for another call.
func (g Grant) holds(now time.Time) bool {
	switch {
	case g.Left == 0 || g.Left < Unlimited:
		return false
	case now.Round(0).Before(g.Made.Round(0)): // the clock was set back
		return false
	}
	return g.Until.IsZero() || !past(g.Until, now)
}

// Terms say how long an approval holds: by exactly one of them. The zero value is none.
type Terms struct {
	For    time.Duration // this long
	Times  int           // for so many calls, those that wait included
	Always bool          // until the session ends
}

// grant makes a grant on the terms.
func (t Terms) grant(ask Question, by string, now time.Time) (Grant, error) {
	var id [8]byte
	rand.Read(id[:]) // never fails (crypto/rand)
	g := Grant{ID: hex.EncodeToString(id[:]), Question: ask, User: by, Made: now, Left: Unlimited, digest: ask.Digest()}
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

// maxGrants is how many grants of a session hold at a time. A person can read that many.
const maxGrants = 100

// Grant approves a question, as Approve does, and on terms what is asked later. Those of its
// callers that came after it was shown would get the grant next, so they get it now.
func (q *Queue) Grant(id, digest string, shown []string, by string, t Terms) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.find(id, digest)
	if err != nil {
		return err
	}
	if !e.waits(shown) {
		return ErrChanged
	}
	now := time.Now()
	g, err := t.grant(e.Question, by, now)
	if err != nil {
		return err
	}
	callers := e.callers()
	if g.Left != Unlimited {
		callers = callers[:min(len(callers), g.Left)]
		g.Left -= len(callers)
	}
	if err := q.add(g, now); err != nil { // what would be forgotten is not granted
		return err
	}
	q.settle(e, callers, Answer{Outcome: Approved, By: by})
	delete(q.denials, digest)
	return nil
}

// callers are the requests that wait, those first whose callers are there.
func (e *question) callers() []string {
	var here, gone []string
	for _, w := range e.waiters {
		if w.gone {
			gone = append(gone, w.request)
		} else {
			here = append(here, w.request)
		}
	}
	return append(here, gone...)
}

// add writes g down, unless all its calls waited. The caller holds mu.
func (q *Queue) add(g Grant, now time.Time) error {
	if !g.holds(now) {
		return nil
	}
	grants := q.holding(now)
	if len(grants) >= maxGrants {
		return fmt.Errorf("%d grants of this session hold already: revoke some", len(grants))
	}
	return q.setGrants(append(grants, g))
}

// holding returns a copy of the grants that still hold. The caller holds mu.
func (q *Queue) holding(now time.Time) []Grant {
	return slices.DeleteFunc(slices.Clone(q.grants), func(g Grant) bool { return !g.holds(now) })
}

// Granted reports whether a grant lets ask run unasked, and uses it for that one call. An
// error says why one that holds could not be used.
func (q *Queue) Granted(ask Question) (g Grant, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.grants) == 0 {
		return Grant{}, false, nil
	}
	return q.use(ask.Digest(), time.Now())
}

// use uses a grant for one call. What is counted is written down first: a watcher that is
// killed and comes back must not count again. The caller holds mu.
func (q *Queue) use(digest string, now time.Time) (Grant, bool, error) {
	grants := q.holding(now)
	i := slices.IndexFunc(grants, func(g Grant) bool { return g.digest == digest })
	if i < 0 {
		return Grant{}, false, nil
	}
	g := grants[i]
	if g.Left == Unlimited {
		return g, true, nil
	}
	if grants[i].Left--; grants[i].Left == 0 {
		grants = slices.Delete(grants, i, i+1)
	}
	if err := q.setGrants(grants); err != nil {
		return Grant{}, false, err
	}
	return g, true, nil
}

// Grants returns the grants that hold, oldest first.
func (q *Queue) Grants() []Grant {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.holding(time.Now())
}

// Revoke ends a grant: what it was for is asked again. So is what was approved for a
// caller that has left, if it is the same.
func (q *Queue) Revoke(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	grants := q.holding(time.Now())
	i := slices.IndexFunc(grants, func(g Grant) bool { return g.ID == id })
	if i < 0 {
		return ErrNoGrant
	}
	digest := grants[i].digest
	if err := q.setGrants(slices.Delete(grants, i, i+1)); err != nil {
		return err
	}
	q.answered = slices.DeleteFunc(q.answered, func(w *waiter) bool { return w.digest == digest })
	return nil
}
