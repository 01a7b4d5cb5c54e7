// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// Outcome is the result of a question, as far as the page knows it.
type Outcome string

const (
	Approved Outcome = "approved"
	Denied   Outcome = "denied"
	TimedOut Outcome = "timeout"
	Gone     Outcome = "gone" // answered elsewhere, or its callers have ended
)

// maxEnded limits the settled questions that pageState keeps. It keeps them so that every browser gets the
// result of the questions that it shows.
const maxEnded = 50

// endOutcome returns the outcome of a question that stopped waiting at now.
func endOutcome(q control.Question, now time.Time) Outcome {
	if now.After(q.Deadline.Add(-100 * time.Millisecond)) {
		return TimedOut
	}
	return Gone
}

// recordAnswer records that the questions done were answered here, with the card c, and removes them before their
// watchers report that. A question that has gained callers since is not removed.
func (ps *pageState) recordAnswer(c card, done []*member) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, m := range done {
		ps.endLocked(newEndedCard(m.cut, c.Outcome))
		for _, s := range ps.watched {
			s.waiting = slices.DeleteFunc(slices.Clone(s.waiting), func(other control.Question) bool {
				return other.ID == m.cut.ID && slices.Equal(other.Waiting, m.cut.Waiting)
			})
		}
	}
	ps.endLocked(c) // after that of its first question, which it replaces
	ps.changed.Send()
	ps.wakeUp() // there may be a new grant
}

// endLocked stores the card of a question that has ended. An answer from this page replaces Gone, in whichever order
// they arrive.
func (ps *pageState) endLocked(c card) {
	if i := slices.IndexFunc(ps.ended, func(other card) bool { return other.ID == c.ID }); i >= 0 {
		if c.Outcome == Approved || c.Outcome == Denied {
			ps.ended[i] = c
		}
		return
	}
	ps.ended = append(ps.ended, c)
	if n := len(ps.ended) - maxEnded; n > 0 {
		ps.ended = slices.Delete(ps.ended, 0, n)
	}
}

// endedCard returns the card of a question that does not wait any more.
func (ps *pageState) endedCard(q control.Question) card {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, c := range ps.ended {
		if c.ID == q.ID {
			return c
		}
	}
	return newEndedCard(q, Gone)
}

// newEndedCard returns a card with the part of q that is shown after its end.
func newEndedCard(q control.Question, outcome Outcome) card {
	kept := control.Question{ID: q.ID, Container: q.Container, Session: q.Session}
	kept.Args, kept.Cut = control.ListedArgs(q.Words())
	if q.Cut != nil { // the watcher has cut it
		kept.Cut = q.Cut
	}
	return card{APIQuestion: newAPIQuestion(kept), Outcome: outcome}
}

// cards returns the cards of ended questions, followed by those of waiting questions.
func (ps *pageState) cards() []card {
	waiting := ps.questions()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return cards(waiting, ps.ended)
}

func cards(waiting []control.Question, ended []card) (all []card) {
	for _, c := range ended {
		if !slices.ContainsFunc(waiting, func(q control.Question) bool { return q.ID == c.ID }) {
			all = append(all, c)
		}
	}
	for _, group := range control.Groups(waiting) {
		all = append(all, newCard(group))
	}
	return all
}

// newCard returns the card of a group of questions that wait.
func newCard(group []control.Question) card {
	c := card{APIQuestion: newAPIQuestion(control.Merged(group))}
	if len(group) > 1 {
		c.Members = group
		c.Digest = strings.Join(control.Distinct(group, func(q control.Question) string { return q.Digest }), " ")
	}
	return c
}

// changedCards returns the cards of the questions shown that still wait, if none was settled.
func changedCards(shown []*member) (all []card) {
	var waiting []control.Question
	for _, m := range shown {
		if m.waits() {
			waiting = append(waiting, m.now)
		}
	}
	for _, group := range control.Groups(waiting) {
		c := newCard(group)
		c.Changed = true
		all = append(all, c)
	}
	return all
}

// settledCard returns the card of a decision on the questions shown, of which done were settled.
func settledCard(shown, done []*member, outcome Outcome) card {
	c := newEndedCard(done[0].cut, outcome)
	var settled []control.Question
	for _, m := range done {
		settled = append(settled, m.now)
	}
	c.Answered = control.Merged(settled).Waiting
	if len(shown) > 1 {
		c.Container, c.Settled, c.Total = strings.Join(control.Distinct(settled, asker), ", "), len(done), len(shown)
	}
	for _, m := range shown {
		if m.err != nil {
			c.Failed = append(c.Failed, m.failure())
		}
	}
	return c
}
