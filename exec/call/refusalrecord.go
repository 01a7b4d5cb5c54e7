// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/limit"
)

// What is refused is written down one by one as long as it is no more than a few a second. A
// container that makes more would fill the disk with them: of these only the number is
// written, from time to time. What runs always has records of its own.

const (
	// summing is how long refusals are counted before their number is written.
	summing = 10 * time.Second
	// slowing is how long a caller waits whose refusal is only counted.
	slowing = 250 * time.Millisecond
)

// refusals are those of one session.
type refusals struct {
	bucket limit.TokenBucket

	mu    sync.Mutex // guards the fields below
	count int        // that have no record
	since time.Time  // when the first of these was refused
	last  audit.Record
	log   *audit.Log // for which container
	timer *time.Timer
}

// AdjustRefusals sets how many refusals a second have a record of their own; 0 is the default.
func (s *Server) AdjustRefusals(rate int64) {
	s.refused.bucket.Adjust(rate)
	s.asked.Adjust(rate)
}

// deny writes down that req was refused, or counts it.
func (s *Server) deny(ctx context.Context, w *authorizedCall, req *request, reason string) error {
	r := audit.Record{Kind: audit.Deny, Reason: reason, Request: req.ID, Rule: w.v.Rule, Args: req.Args}
	if s.refused.bucket.Take() {
		s.sumRefusals()
		return w.state.Audit.Write(r)
	}
	s.refused.add(r, w.state.Audit, s.sumRefusals)
	slow(ctx)
	return nil
}

// slow waits for a while. It reports false when ctx was done first.
func slow(ctx context.Context) bool {
	late := time.NewTimer(slowing)
	defer late.Stop()
	select {
	case <-late.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// add counts r, and has sum called after a while.
func (f *refusals) add(r audit.Record, log *audit.Log, sum func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		f.since = time.Now()
		f.timer = time.AfterFunc(summing, sum) // one that runs after Wait has nothing to write
	}
	f.count++
	f.last, f.log = r, log
}

// sumRefusals writes down how many refusals have no record.
func (s *Server) sumRefusals() {
	f := &s.refused
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		return
	}
	f.timer.Stop()
	r := f.last
	r.Kind, r.Count, r.Since = audit.Refusals, f.count, f.since
	r.Reason = fmt.Sprintf("limit of %d refusals with a record a second (limits.refusals)", f.bucket.Rate())
	if err := f.log.Write(r); err != nil {
		s.Log.Error("audit", "refusals", f.count, "error", err)
	}
	f.count, f.last, f.log = 0, audit.Record{}, nil
}

// limitQuestions waits until one more question may be written down: a container that asks and leaves
// would fill the disk, too. It reports false when ctx was done first.
func (s *Server) limitQuestions(ctx context.Context) bool {
	for !s.asked.Take() {
		if !slow(ctx) {
			return false
		}
	}
	return true
}
