// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"time"
)

// A caller may be cut off before a person has read its question: agents give a command a
// minute or two. In a durable queue its place stays for a while, and the next caller that
// asks the same takes it, or fetches the answer that was given meanwhile, once.

// outlive is how long a request outlives its caller.
const outlive = time.Minute

// stay leaves w its place although its caller has gone. The caller holds mu.
func (q *Queue) stay(w *waiter) {
	w.gone, w.deadline = true, time.Now().Add(outlive)
	// ends at once when its time comes, which is when nobody has come back.
	w.lapse = time.AfterFunc(outlive, func() { q.lapsed(w) })
	q.change()
}

// lapsed takes w, and an answer that it has, out for good.
func (q *Queue) lapsed(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.gone { // it came back when its time was up
		return
	}
	same := func(other *waiter) bool { return other == w }
	q.answered = slices.DeleteFunc(q.answered, same)
	for _, e := range q.questions {
		e.waiters = slices.DeleteFunc(e.waiters, same)
	}
	q.sweep()
}

// comeBack gives a request the place of a caller that has left, if there is one.
func (e *question) comeBack(request string, deadline time.Time) *waiter {
	for _, w := range e.waiters {
		if w.gone {
			w.lapse.Stop()
			w.gone, w.deadline = false, deadline
			// Who was shown the request before answers this one.
			w.was, w.request = w.request, request
			return w
		}
	}
	return nil
}

// keep keeps a person's answer for the caller of w, if it has left. The caller holds mu.
func (q *Queue) keep(w *waiter, a Answer) {
	if !w.gone {
		return
	}
	if a.Outcome == Approved || a.Outcome == Denied {
		q.answered = append(q.answered, w)
		return
	}
	w.lapse.Stop()
}

// fetch takes an answer that was given to a caller which had left, if one asked the same.
// The caller holds mu.
func (q *Queue) fetch(digest string, now time.Time) (Answer, bool) {
	i := slices.IndexFunc(q.answered, func(w *waiter) bool { return w.digest == digest && !past(w.deadline, now) })
	if i < 0 {
		return Answer{}, false
	}
	w := q.answered[i]
	w.lapse.Stop()
	q.answered = slices.Delete(q.answered, i, i+1)
	return <-w.answer, true
}

// past reports whether t is over, by the clock that stands still while the machine sleeps
// or by the one on the wall: what was allowed before a night's sleep is over in the
// morning, and a clock that is set back prolongs nothing.
func past(t, now time.Time) bool { return !now.Before(t) || !now.Round(0).Before(t.Round(0)) }
