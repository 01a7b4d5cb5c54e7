// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"slices"
	"time"
)

// Approve lets those of a question's callers run that were shown, by their requests. id is
// of any request that waits for it.
func (q *Queue) Approve(id, digest string, shown []string, by string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.find(id, digest)
	if err != nil {
		return err
	}
	if !q.settle(e, shown, Answer{Outcome: Approved, By: by}) {
		return ErrChanged
	}
	delete(q.denials, digest)
	return nil
}

// Deny refuses all callers of a question. The same is not asked again for a while, and
// for longer each time.
func (q *Queue) Deny(id, digest, reason, by string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.find(id, digest)
	if err != nil {
		return err
	}
	q.note(digest, time.Now())
	q.settle(e, e.requests(), Answer{Outcome: Denied, Reason: cmp.Or(reason, DefaultReason), By: by})
	return nil
}

func (q *Queue) find(id, digest string) (*question, error) {
	for _, e := range q.questions {
		if id != e.ID && !e.waits([]string{id}) {
			continue
		}
		if e.digest != digest {
			return nil, ErrChanged
		}
		return e, nil
	}
	return nil, ErrUnknown
}

// waits reports whether any of requests waits for the answer.
func (e *question) waits(requests []string) bool {
	return slices.ContainsFunc(e.waiters, func(w *waiter) bool { return w.isAny(requests) })
}

// settle takes the waiters of requests out and answers them. It reports whether there was
// any. The caller holds mu.
func (q *Queue) settle(e *question, requests []string, a Answer) (any bool) {
	e.waiters = slices.DeleteFunc(e.waiters, func(w *waiter) bool {
		mine := w.isAny(requests)
		if mine {
			w.answer <- a // it has room for one, and only who takes a waiter out sends
			any = true
			q.keep(w, a)
		}
		return mine
	})
	q.sweep()
	return any
}

// denial keeps a question that was denied from being put again at once.
type denial struct {
	until time.Time
	wait  time.Duration
}

// How long the same question rests after its first denial, and at most. It is forgotten
// after as long again.
const (
	firstRest = 10 * time.Second
	maxRest   = 5 * time.Minute
)

// note remembers a denial, and forgets those that are over: there are no more of them
// than a person has denied in the last ten minutes.
func (q *Queue) note(digest string, now time.Time) {
	for other, d := range q.denials {
		if now.After(d.until.Add(d.wait)) {
			delete(q.denials, other)
		}
	}
	wait := firstRest
	if d, again := q.denials[digest]; again {
		wait = min(2*d.wait, maxRest)
	}
	if q.denials == nil {
		q.denials = map[string]denial{}
	}
	q.denials[digest] = denial{until: now.Add(wait), wait: wait}
}
