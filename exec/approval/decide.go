// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"slices"
	"time"
)

// Approve approves the callers of a question that were shown, given by their request IDs. id is the ID of any request
// that waits for the question. shownDigest is the result of Question.ShownDigest.
func (q *Queue) Approve(id, shownDigest string, shown []string, by string) error {
	return q.decide(id, shownDigest, func(e *question) error {
		if !q.settle(e, shown, Answer{Outcome: Approved, By: by}) {
			return ErrChanged
		}
		delete(q.recentDenials, e.digest)
		return nil
	})
}

// Deny denies all callers of a question. For some time, the queue refuses the same question without
// asking. This time doubles with each denial.
func (q *Queue) Deny(id, shownDigest, reason, by string) error {
	return q.decide(id, shownDigest, func(e *question) error {
		q.recordDenial(e.digest, time.Now())
		q.settle(e, e.requests(), Answer{Outcome: Denied, Reason: cmp.Or(reason, DefaultReason), By: by})
		return nil
	})
}

// decide calls f with the question for which request id waits, while it holds mu. If the person was shown another
// question than shownDigest identifies, it returns ErrChanged instead.
func (q *Queue) decide(id, shownDigest string, f func(*question) error) error {
	q.mu.Lock()
	defer q.unlockAndNote()
	for _, e := range q.questions {
		if id != e.ID && !e.waits([]string{id}) {
			continue
		}
		if e.ShownDigest() != shownDigest {
			return ErrChanged
		}
		return f(e)
	}
	return ErrUnknown
}

// waits reports whether any of requests waits for the answer.
func (e *question) waits(requests []string) bool {
	return slices.ContainsFunc(e.waiters, func(w *waiter) bool { return w.isAny(requests) })
}

// settle removes the waiters of requests and answers them. It reports whether there were any. The
// caller holds mu.
func (q *Queue) settle(e *question, requests []string, a Answer) (any bool) {
	e.waiters = slices.DeleteFunc(e.waiters, func(w *waiter) bool {
		mine := w.isAny(requests)
		if mine {
			w.answer <- a // does not block: the buffer holds one answer, and only the code that removes a waiter sends
			any = true
			q.earlier.answered(e.digest, a.Outcome)
			q.storeAnswer(w, a)
		}
		return mine
	})
	q.removeAbandoned()
	return any
}

// recentDenial prevents that a denied question is asked again at once.
type recentDenial struct {
	until   time.Time
	backoff time.Duration
}

// The minimum and maximum time during which a denied question is refused. A recentDenial is
// forgotten after the same time again.
const (
	minBackoff = 10 * time.Second
	maxBackoff = 5 * time.Minute
)

// recordDenial records a recentDenial and removes expired ones. The map holds at most the denials of the last ten
// minutes.
func (q *Queue) recordDenial(digest string, now time.Time) {
	for other, d := range q.recentDenials {
		if now.After(d.until.Add(d.backoff)) {
			delete(q.recentDenials, other)
		}
	}
	wait := minBackoff
	if d, again := q.recentDenials[digest]; again {
		wait = min(2*d.backoff, maxBackoff)
	}
	if q.recentDenials == nil {
		q.recentDenials = map[string]recentDenial{}
	}
	q.recentDenials[digest] = recentDenial{until: now.Add(wait), backoff: wait}
}
