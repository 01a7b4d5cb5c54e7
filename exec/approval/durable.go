// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"time"
)

// A caller may be disconnected before a person has read its question, because agents stop a command
// after a minute or two. In a durable queue, the waiter stays for a while. The next caller with the
// same question takes it over, or receives the answer that was given meanwhile, once.

// disconnectGrace is the time that a request stays after its caller has left.
const disconnectGrace = time.Minute

// keepDisconnected keeps w in the queue after its caller has left. The caller holds mu.
func (q *Queue) keepDisconnected(w *waiter) {
	w.disconnected, w.deadline = true, time.Now().Add(disconnectGrace)
	// ends after disconnectGrace; takeOver, storeAnswer and takeStoredAnswer stop the timer.
	var expiry *time.Timer
	expiry = time.AfterFunc(disconnectGrace, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if w.expiry == expiry && w.disconnected { // otherwise a caller took w over just before
			q.expire(w)
		}
	})
	w.expiry = expiry
	q.changed.Send()
}

// expire removes w and its answer, if any. The caller holds mu.
func (q *Queue) expire(w *waiter) {
	same := func(other *waiter) bool { return other == w }
	q.answered = slices.DeleteFunc(q.answered, same)
	for _, e := range q.questions {
		e.waiters = slices.DeleteFunc(e.waiters, same)
	}
	q.removeAbandoned()
}

// takeOver assigns a waiter without a caller to a new request, if there is one.
func (e *question) takeOver(request string, deadline time.Time) *waiter {
	for _, w := range e.waiters {
		if w.disconnected {
			w.expiry.Stop()
			w.disconnected, w.deadline = false, deadline
			// A person who was shown the previous request also answers the new one.
			w.was, w.request = w.request, request
			return w
		}
	}
	return nil
}

// storeAnswer stores a person's answer for the caller of w, if the caller has left. The caller holds mu.
func (q *Queue) storeAnswer(w *waiter, a Answer) {
	if !w.disconnected {
		return
	}
	if a.Outcome == Approved || a.Outcome == Denied {
		if late := w.late; late != nil {
			q.late = append(q.late, func() { late(a) })
		}
		q.answered = append(q.answered, w)
		return
	}
	w.expiry.Stop()
}

// unlockAndNote unlocks mu, and then passes on the late answers of a decision. Their receivers write the audit log, and a
// slow disk must not delay other questions. Each decision waits for those before it, so the log has their order.
func (q *Queue) unlockAndNote() {
	late, before := q.late, q.noted
	if len(late) == 0 {
		q.mu.Unlock()
		return
	}
	noted := make(chan struct{})
	q.late, q.noted = nil, noted
	q.mu.Unlock()
	await(before)
	for _, pass := range late {
		pass()
	}
	close(noted)
}

// await waits until the decisions before noted are written down. Stored answers, grants and denials have no effect
// before that.
func await(noted <-chan struct{}) {
	if noted != nil {
		<-noted
	}
}

// takeStoredAnswer removes and returns an answer for the same question whose caller had left. The caller holds
// mu.
func (q *Queue) takeStoredAnswer(digest string, now time.Time) (Answer, bool) {
	i := slices.IndexFunc(q.answered, func(w *waiter) bool { return w.digest == digest && !isPast(w.deadline, now) })
	if i < 0 {
		return Answer{}, false
	}
	w := q.answered[i]
	w.expiry.Stop()
	q.answered = slices.Delete(q.answered, i, i+1)
	return <-w.answer, true
}

// isPast reports whether now is at or after t, by the monotonic clock or by the wall clock. The
// monotonic clock stops during suspend, so the wall clock expires grants overnight. Setting the
// wall clock back extends no grant.
func isPast(t, now time.Time) bool { return !now.Before(t) || !now.Round(0).Before(t.Round(0)) }
