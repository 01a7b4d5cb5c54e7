// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// Outcome is what became of a question, as far as the page knows.
type Outcome string

const (
	Approved Outcome = "approved"
	Denied   Outcome = "denied"
	TimedOut Outcome = "timeout"
	Gone     Outcome = "gone" // answered elsewhere, or its callers have left
)

// maxEnded is how many settled questions are remembered, so that every browser learns what
// became of what it shows.
const maxEnded = 50

// gone is what became of a question that does not wait at now any more.
func gone(q control.Question, now time.Time) Outcome {
	if now.After(q.Deadline.Add(-100 * time.Millisecond)) {
		return TimedOut
	}
	return Gone
}

// settle notes that q was answered here, and forgets it before its watcher says so. What
// has more callers since then is another question.
func (b *board) settle(q control.Question, how Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endLocked(q, how)
	for _, s := range b.seats {
		s.waiting = slices.DeleteFunc(slices.Clone(s.waiting), func(other control.Question) bool {
			return other.ID == q.ID && slices.Equal(other.Waiting, q.Waiting)
		})
	}
	b.changeLocked()
	b.hurry() // there may be a grant
}

// endLocked remembers what became of q. That it was answered here is known better than
// that it is gone, whichever is heard first.
func (b *board) endLocked(q control.Question, how Outcome) {
	if i := slices.IndexFunc(b.ended, func(c card) bool { return c.ID == q.ID }); i >= 0 {
		if how == Approved || how == Denied {
			b.ended[i].Outcome = how
		}
		return
	}
	b.ended = append(b.ended, tombstoneOf(q, how))
	if n := len(b.ended) - maxEnded; n > 0 {
		b.ended = slices.Delete(b.ended, 0, n)
	}
}

// tombstone returns what is shown of a question that does not wait any more.
func (b *board) tombstone(q control.Question) card {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.ended {
		if c.ID == q.ID {
			return c
		}
	}
	return tombstoneOf(q, Gone)
}

// tombstoneOf keeps of q what is shown of it when it does not wait any more.
func tombstoneOf(q control.Question, how Outcome) card {
	kept := control.Question{ID: q.ID, Container: q.Container, Session: q.Session}
	kept.Args, kept.Cut = control.ListedArgs(q.Args)
	if q.Cut != nil { // it was cut before
		kept.Cut = q.Cut
	}
	return card{Request: request(kept), Outcome: how}
}

// cards returns what is shown of questions: those that have ended, then those that wait.
func (b *board) cards() []card {
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
