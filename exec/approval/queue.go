// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Queue holds the questions of one session. Set its fields before the first Ask; Adjust
// changes some of them later.
type Queue struct {
	Timeout  time.Duration // DefaultTimeout when zero
	Reach    func() bool   // reports whether somebody is there to be told; nil is nobody
	Notifies bool          // somebody may be told by a program; Untold says where that failed
	Always   bool          // questions wait even where nobody is there
	Durable  bool          // a request outlives its caller for a while
	File     string        // where grants are kept; empty keeps them here alone

	mu        sync.Mutex // guards the fields below
	questions []*question
	answered  []*waiter         // whose callers have left and may fetch the answer
	denials   map[string]denial // by digest
	grants    []Grant
	attending int
	changed   chan struct{} // closed at the next change; nil when nobody waits for it
}

// question is one entry of the queue. It stays as long as somebody waits.
type question struct {
	Question
	digest  string
	waiters []*waiter // oldest first
}

// waiter is a place in the queue: a caller's, or for a while that of one who has left.
type waiter struct {
	request  string
	was      string // the request whose place it was before, if it came back to one
	digest   string
	deadline time.Time
	answer   chan Answer // of one
	gone     bool
	lapse    *time.Timer // when gone
}

func (w *waiter) isAny(requests []string) bool {
	return slices.Contains(requests, w.request) || w.was != "" && slices.Contains(requests, w.was)
}

func (e *question) requests() (ids []string) {
	for _, w := range e.waiters {
		ids = append(ids, w.request)
	}
	return ids
}

// Ask puts a question and returns its answer. It returns Cancelled when ctx is done first.
// An identical question that waits already is joined.
func (q *Queue) Ask(ctx context.Context, ask Question) Answer {
	now := time.Now()
	w, refusal := q.enter(ask, now)
	if w == nil {
		return refusal
	}
	t := time.NewTimer(w.deadline.Sub(now))
	defer t.Stop()
	select {
	case a := <-w.answer:
		return a
	case <-t.C:
		return q.leave(w, Answer{Outcome: TimedOut}, false)
	case <-ctx.Done():
		return q.leave(w, Answer{Outcome: Cancelled}, !errors.Is(context.Cause(ctx), ErrWithdrawn))
	}
}

// enter queues a waiter, or has an answer already, or says why there is no asking.
func (q *Queue) enter(ask Question, now time.Time) (*waiter, Answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	digest := ask.Digest()
	if a, ok := q.fetch(digest, now); ok {
		return nil, a
	}
	// One may have been made since Granted was asked. That it cannot be used is no reason not to ask.
	if g, ok, _ := q.use(digest, now); ok {
		return nil, Answer{Outcome: Approved, By: g.By()}
	}
	if left := q.denials[digest].until.Sub(now); left > 0 {
		return nil, refused("the same was denied a moment ago: ask again in %s", left.Truncate(time.Second)+time.Second)
	}
	if !q.Notifies && q.deserted() {
		return nil, nobody
	}
	return q.place(ask, digest, now, cmp.Or(q.Timeout, DefaultTimeout))
}

var nobody = refused("nobody is there to ask: run docker hostexec ui on the host, or docker hostexec pending --watch")

// deserted reports whether a question would wait although nobody is there. The caller holds mu.
func (q *Queue) deserted() bool {
	return !q.Always && q.attending == 0 && (q.Reach == nil || !q.Reach())
}

// place gives ask a place: one that an identical request has left, a new one beside
// others like it, or the first of its question. The caller holds mu.
func (q *Queue) place(ask Question, digest string, now time.Time, timeout time.Duration) (*waiter, Answer) {
	i := slices.IndexFunc(q.questions, func(e *question) bool { return e.digest == digest })
	if i < 0 {
		if len(q.questions) == maxQuestions {
			return nil, refused("%d requests of this session wait for approval already", maxQuestions)
		}
		ask.Asked = now
		q.questions = append(q.questions, &question{Question: ask, digest: digest})
		i = len(q.questions) - 1
	}
	e := q.questions[i]
	if w := e.comeBack(ask.ID, now.Add(timeout)); w != nil {
		q.change()
		return w, Answer{}
	}
	if len(e.waiters) == maxWaiting {
		return nil, refused("%d callers wait for the same answer already", maxWaiting)
	}
	w := &waiter{request: ask.ID, digest: digest, deadline: now.Add(timeout), answer: make(chan Answer, 1)}
	e.waiters = append(e.waiters, w)
	q.change()
	return w, Answer{}
}

func refused(format string, args ...any) Answer {
	return Answer{Outcome: Refused, Reason: fmt.Sprintf(format, args...)}
}

// leave takes w out of the queue, or keeps its place for a while if it may stay, and
// returns a, unless somebody else was faster: then theirs is the answer.
func (q *Queue) leave(w *waiter, a Answer, mayStay bool) Answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.questions {
		if i := slices.Index(e.waiters, w); i >= 0 {
			if mayStay && q.Durable {
				q.stay(w)
				return a
			}
			e.waiters = slices.Delete(e.waiters, i, i+1)
			q.sweep()
			return a
		}
	}
	return <-w.answer
}

// sweep removes the questions for which nobody waits any more, and tells of the change.
// The caller holds mu.
func (q *Queue) sweep() {
	q.questions = slices.DeleteFunc(q.questions, func(e *question) bool { return len(e.waiters) == 0 })
	q.change()
}

func (q *Queue) change() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// Changed returns a channel that is closed when Pending is no more what it was.
func (q *Queue) Changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	return q.changed
}

// Pending returns the questions that wait, oldest first.
func (q *Queue) Pending() []Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]Question, len(q.questions))
	for i, e := range q.questions {
		all[i] = e.Question
		all[i].Waiting = e.requests()
		for _, w := range e.waiters {
			if w.deadline.After(all[i].Deadline) {
				all[i].Deadline = w.deadline
			}
			if w.gone {
				all[i].Gone++
			}
		}
	}
	return all
}

// Adjust changes how later questions wait.
func (q *Queue) Adjust(timeout time.Duration, always, durable bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Timeout, q.Always, q.Durable = timeout, always, durable
}

// Untold says that nobody could be told of these questions. They are refused, unless
// somebody has come.
func (q *Queue) Untold(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.deserted() {
		return
	}
	for _, e := range slices.Clone(q.questions) {
		if slices.Contains(ids, e.ID) {
			q.settle(e, e.requests(), nobody)
		}
	}
}

// Attend says that somebody watches the questions, until the returned function is called.
func (q *Queue) Attend() (leave func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attending++
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.attending--
	})
}
