// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// StandingDenial is valid for this session: the same question is denied without asking. It wins over any grant. The
// embedded Grant has the question, the user and the time, and no limit. It approves nothing.
type StandingDenial struct {
	Grant
	Reason string
}

// Answer returns the answer to calls that the denial refuses.
func (d StandingDenial) Answer() Answer {
	return Answer{Outcome: Denied, Reason: d.Reason, By: d.By(), Standing: true}
}

// By returns the name under which calls that the denial refused are recorded.
func (d StandingDenial) By() string { return "denial " + d.ID }

// maxDenials is the maximum number of denials of a session that a person can read.
const maxDenials = 100

// ErrNoDenial means that no denial has this ID.
var ErrNoDenial = errors.New("no such denial")

// denials are the denials of one session, in a file and in memory. The queue's mu guards them.
type denials struct {
	file string // empty: memory only
	list []StandingDenial
}

// of returns the denial of the question with this digest.
func (s *denials) of(digest string) (StandingDenial, bool) {
	i := slices.IndexFunc(s.list, func(d StandingDenial) bool { return d.digest == digest })
	if i < 0 {
		return StandingDenial{}, false
	}
	return s.list[i], true
}

// denialJSON is a denial in the JSON file.
type denialJSON struct {
	Call   grantJSON   `json:"call"` // as a grant of the same call for this session
	Reason quotedBytes `json:"reason"`
}

// set replaces the denials, first in the file and then in memory.
func (s *denials) set(list []StandingDenial) error {
	all := make([]denialJSON, len(list))
	for i, d := range list {
		all[i] = denialJSON{d.fileForm(), quotedBytes(d.Reason)}
	}
	if err := store("denial", s.file, all); err != nil {
		return err
	}
	s.list = list
	return nil
}

// LoadDenials stores the denials in file, and reads those that an earlier queue stored there for session. After an
// error there are none. Call it before the first Ask. Without it, they are in memory only.
func (q *Queue) LoadDenials(file, session string) (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sessionDenials.file = file
	q.sessionDenials.list, err = load("denial", file, func(k denialJSON) (StandingDenial, error) {
		return StandingDenial{k.Call.grant(), string(k.Reason)}, k.Call.check(session)
	})
	return err
}

// DenyAlways denies a question as Deny does, and denies the same question for this session.
func (q *Queue) DenyAlways(id, shownDigest, reason, by string) error {
	return q.decide(id, shownDigest, func(e *question) error {
		if len(q.sessionDenials.list) >= maxDenials {
			return fmt.Errorf("%d denials of this session hold already: revoke some with docker hostexec policy rm", len(q.sessionDenials.list))
		}
		reason = cmp.Or(reason, DefaultReason)
		d := StandingDenial{Grant{ID: names.RandomHex(8), Question: e.Question.identity(), User: by, Made: time.Now(), Left: Unlimited, digest: e.digest}, reason}
		if err := q.sessionDenials.set(append(slices.Clone(q.sessionDenials.list), d)); err != nil { // deny nothing if the denial cannot be stored
			return err
		}
		q.settle(e, e.requests(), Answer{Outcome: Denied, Reason: reason, By: by, Standing: true})
		return nil
	})
}

// DeniedAlways returns the denial that covers ask.
func (q *Queue) DeniedAlways(ask Question) (d StandingDenial, ok bool) {
	q.mu.Lock()
	noted := q.noted
	if len(q.sessionDenials.list) > 0 {
		d, ok = q.sessionDenials.of(ask.Digest())
	}
	q.mu.Unlock()
	if ok {
		await(noted)
	}
	return d, ok
}

// Denials returns the denials that hold for the session, oldest first.
func (q *Queue) Denials() []StandingDenial {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.sessionDenials.list)
}

// RevokeDenial ends a denial: the next call asks again. It also removes stored denials of the same question for callers
// that have left.
func (q *Queue) RevokeDenial(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.sessionDenials.list, func(d StandingDenial) bool { return d.ID == id })
	if i < 0 {
		return ErrNoDenial
	}
	digest := q.sessionDenials.list[i].digest
	if err := q.sessionDenials.set(slices.Delete(slices.Clone(q.sessionDenials.list), i, i+1)); err != nil {
		return err
	}
	delete(q.recentDenials, digest) // the next call asks at once
	q.answered = slices.DeleteFunc(q.answered, func(w *waiter) bool { return w.digest == digest })
	return nil
}
