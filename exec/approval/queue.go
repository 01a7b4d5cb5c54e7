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

	"github.com/docker-hostexec/hostexec/exec/broadcast"
)

// Queue holds the questions of one session. Set its fields before the first Ask. Adjust changes some of them later. It
// has more methods than other types: each is one operation of a caller, a person or the watcher. All of them are atomic
// under mu, except Ask, which waits without mu.
type Queue struct {
	Timeout    time.Duration // zero: defaultTimeout
	CanNotify  func() bool   // reports whether a person can be notified on the session's terminal; nil: no
	Notifies   bool          // a program can notify a person; see NotificationFailed
	WaitAlways bool          // questions wait even if nobody can be notified
	Durable    bool          // a request stays for a while after its caller has left

	mu             sync.Mutex // guards the fields below
	questions      []*question
	answered       []*waiter               // answered waiters whose callers have left and may fetch the answer
	recentDenials  map[string]recentDenial // by digest
	grants         grants
	sessionDenials denials // for this session
	earlier        counts
	approvers      int
	changed        broadcast.Event
	late           []func()      // pass on the answers of the decision that holds mu to callers that have left
	noted          chan struct{} // closed when the late answers of all decisions so far have been passed on; nil: there were none
}

// LoadGrants stores the grants in file, and reads those that an earlier queue stored there for session. After an error
// there are none. Call it before the first Ask. Without it, grants are in memory only.
func (q *Queue) LoadGrants(file, session string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.grants.load(file, session)
}

// question is one entry of the queue. It stays until it has no waiters.
type question struct {
	Question
	digest  string
	waiters []*waiter // oldest first
}

// waiter is one request that waits for the answer to a question. It belongs to a caller, or for a while to a caller
// that has left.
type waiter struct {
	request      string
	was          string // the previous request, if a caller took the waiter over
	digest       string
	deadline     time.Time
	answer       chan Answer // capacity one
	disconnected bool
	expiry       *time.Timer  // set if disconnected
	late         func(Answer) // receives the answer while disconnected; nil: nobody
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

// Ask queues a question and returns its answer. If ctx is done first, it returns Cancelled. An identical question that
// already waits is shared. If the queue is durable and a person answers after ctx is done, late receives the answer
// before it has an effect. Several answers come one after another, in the order of the decisions. late must not use the
// queue. It may be nil.
func (q *Queue) Ask(ctx context.Context, ask Question, late func(Answer)) Answer {
	now := time.Now()
	w, known, noted := q.enter(ask, now)
	if w == nil {
		await(noted)
		return known
	}
	t := time.NewTimer(w.deadline.Sub(now))
	defer t.Stop()
	select {
	case a := <-w.answer:
		return a
	case <-t.C:
		return q.leave(w, Answer{Outcome: TimedOut}, false, nil)
	case <-ctx.Done():
		return q.leave(w, Answer{Outcome: Cancelled}, !errors.Is(context.Cause(ctx), ErrWithdrawn), late)
	}
}

// enter queues a waiter. If it returns nil, the Answer is final: a stored answer, a grant or a
// refusal. It has an effect after noted.
func (q *Queue) enter(ask Question, now time.Time) (w *waiter, known Answer, noted <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w, known = q.enterLocked(ask, now)
	return w, known, q.noted
}

func (q *Queue) enterLocked(ask Question, now time.Time) (*waiter, Answer) {
	digest := ask.Digest()
	if d, ok := q.sessionDenials.of(digest); ok {
		return nil, d.Answer()
	}
	if a, ok := q.takeStoredAnswer(digest, now); ok {
		return nil, a
	}
	// A grant may have been made since the call of Granted. If it cannot be used, the question is
	// still asked.
	if g, ok, _ := q.granted(&ask, digest, now); ok {
		return nil, Answer{Outcome: Approved, By: g.By(), Inputs: g.Unchanged.Digest()}
	}
	if left := q.recentDenials[digest].until.Sub(now); left > 0 {
		return nil, refused("the same was denied a moment ago: ask again in %s", left.Truncate(time.Second)+time.Second)
	}
	if !q.Notifies && q.unattended() {
		return nil, errNobody
	}
	return q.enqueue(ask, digest, now, cmp.Or(q.Timeout, defaultTimeout))
}

// Opens reports whether Ask would now show ask to a person as a new question. It would not if the same question waits,
// if the answer is known, or if Ask would refuse. Opens does not consider grants: Granted does.
func (q *Queue) Opens(ask Question) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	digest, now := ask.Digest(), time.Now()
	_, denied := q.sessionDenials.of(digest)
	known := func(w *waiter) bool { return w.digest == digest }
	return !denied && !slices.ContainsFunc(q.answered, known) && !q.recentDenials[digest].until.After(now) &&
		(q.Notifies || !q.unattended()) && len(q.questions) < maxQuestions &&
		!slices.ContainsFunc(q.questions, func(e *question) bool { return e.digest == digest })
}

var errNobody = refused("nobody is there to ask: run docker hostexec ui on the host, or docker hostexec pending --watch")

// unattended reports whether questions must not wait, because nobody watches or can be notified. The
// caller holds mu.
func (q *Queue) unattended() bool {
	return !q.WaitAlways && q.approvers == 0 && (q.CanNotify == nil || !q.CanNotify())
}

// enqueue returns a waiter for ask: one without a caller, a new one of an existing question, or the
// first one of a new question. The caller holds mu.
func (q *Queue) enqueue(ask Question, digest string, now time.Time, timeout time.Duration) (*waiter, Answer) {
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
	if w := e.takeOver(ask.ID, now.Add(timeout)); w != nil {
		q.changed.Send()
		return w, Answer{}
	}
	if len(e.waiters) == maxWaiting {
		return nil, refused("%d callers wait for the same answer already", maxWaiting)
	}
	w := &waiter{request: ask.ID, digest: digest, deadline: now.Add(timeout), answer: make(chan Answer, 1)}
	e.waiters = append(e.waiters, w)
	if q.earlier == nil {
		q.earlier = counts{}
	}
	q.earlier.asked(digest)
	q.changed.Send()
	return w, Answer{}
}

func refused(format string, args ...any) Answer {
	return Answer{Outcome: Refused, Reason: fmt.Sprintf(format, args...)}
}

// leave removes w from the queue and returns a. If mayStay is set and the queue is durable, w stays
// for a while, and late gets its answer. If w was settled meanwhile, leave returns that answer instead.
func (q *Queue) leave(w *waiter, a Answer, mayStay bool, late func(Answer)) Answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.questions {
		if i := slices.Index(e.waiters, w); i >= 0 {
			if mayStay && q.Durable {
				w.late = late
				q.keepDisconnected(w)
				return a
			}
			e.waiters = slices.Delete(e.waiters, i, i+1)
			q.removeAbandoned()
			return a
		}
	}
	return <-w.answer
}

// removeAbandoned removes the questions without waiters and signals the change. The caller holds mu.
func (q *Queue) removeAbandoned() {
	q.questions = slices.DeleteFunc(q.questions, func(e *question) bool { return len(e.waiters) == 0 })
	q.changed.Send()
}

// Changed returns a channel that is closed when the result of Pending changes.
func (q *Queue) Changed() <-chan struct{} { return q.changed.Next() }

// Pending returns the waiting questions, oldest first.
func (q *Queue) Pending() []Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]Question, len(q.questions))
	for i, e := range q.questions {
		all[i] = e.Question
		all[i].Waiting = e.requests()
		all[i].Earlier = q.earlier.before(e.digest, len(e.waiters))
		for _, w := range e.waiters {
			if w.deadline.After(all[i].Deadline) {
				all[i].Deadline = w.deadline
			}
			if w.disconnected {
				all[i].Disconnected++
			}
		}
	}
	return all
}

// Adjust changes how later questions wait.
func (q *Queue) Adjust(timeout time.Duration, always, durable bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Timeout, q.WaitAlways, q.Durable = timeout, always, durable
}

// NotificationFailed is called when nobody could be notified of these questions. It refuses them, unless WaitAlways is
// set or somebody can be notified now.
func (q *Queue) NotificationFailed(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.unattended() {
		return
	}
	for _, e := range slices.Clone(q.questions) {
		if slices.Contains(ids, e.ID) {
			q.settle(e, e.requests(), errNobody)
		}
	}
}

// AddApprover registers a client that shows a person new questions, until the returned function is called.
func (q *Queue) AddApprover() (leave func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.approvers++
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.approvers--
	})
}
