// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
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

// gone returns the outcome of a question that stopped waiting at now.
func gone(q control.Question, now time.Time) Outcome {
	if now.After(q.Deadline.Add(-100 * time.Millisecond)) {
		return TimedOut
	}
	return Gone
}

// recordAnswer records that q was answered here and removes it before its watcher reports that. A question that
// has gained callers since is not removed.
func (b *pageState) recordAnswer(q control.Question, how Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endLocked(q, how)
	for _, s := range b.watched {
		s.waiting = slices.DeleteFunc(slices.Clone(s.waiting), func(other control.Question) bool {
			return other.ID == q.ID && slices.Equal(other.Waiting, q.Waiting)
		})
	}
	b.changeLocked()
	b.wakeUp() // there may be a new grant
}

// endLocked stores the outcome of q. An answer from this page replaces Gone, in whichever order they
// arrive.
func (b *pageState) endLocked(q control.Question, how Outcome) {
	if i := slices.IndexFunc(b.ended, func(c card) bool { return c.ID == q.ID }); i >= 0 {
		if how == Approved || how == Denied {
			b.ended[i].Outcome = how
		}
		return
	}
	b.ended = append(b.ended, newEndedCard(q, how))
	if n := len(b.ended) - maxEnded; n > 0 {
		b.ended = slices.Delete(b.ended, 0, n)
	}
}

// endedCard returns the card of a question that does not wait any more.
func (b *pageState) endedCard(q control.Question) card {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.ended {
		if c.ID == q.ID {
			return c
		}
	}
	return newEndedCard(q, Gone)
}

// newEndedCard returns a card with the part of q that is shown after its end.
func newEndedCard(q control.Question, how Outcome) card {
	kept := control.Question{ID: q.ID, Container: q.Container, Session: q.Session}
	kept.Args, kept.Cut = control.ListedArgs(q.Args)
	if q.Cut != nil { // the watcher has cut it
		kept.Cut = q.Cut
	}
	return card{Request: request(kept), Outcome: how}
}

// cards returns the cards of ended questions, followed by those of waiting questions.
func (b *pageState) cards() []card {
	waiting := b.questions()
	b.mu.Lock()
	defer b.mu.Unlock()
	return cards(waiting, b.ended)
}

func cards(waiting []control.Question, ended []card) (all []card) {
	for _, c := range ended {
		if !slices.ContainsFunc(waiting, func(q control.Question) bool { return q.ID == c.ID }) {
			all = append(all, c)
		}
	}
	for _, q := range waiting {
		all = append(all, card{Request: request(q)})
	}
	return all
}
