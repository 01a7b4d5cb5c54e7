// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/limit"
)

// Up to a few refusals a second have records of their own. More would let a container fill the disk: of these, only the
// number and the last one are recorded, from time to time. Commands that run always have their own records.

const (
	// summaryInterval is how long refusals are counted before their number is recorded.
	summaryInterval = 10 * time.Second
	// refusalDelay is how long a caller waits whose refusal is only counted.
	refusalDelay = 250 * time.Millisecond
)

// refusals limits the records of refusals and questions of one session.
type refusals struct {
	bucket    limit.TokenBucket // of refusals with a record of their own
	questions limit.TokenBucket // of questions that are written down

	mu    sync.Mutex // guards the fields below
	count int        // that have no record
	since time.Time  // when the first of these was refused
	last  audit.Record
	log   *audit.Log // gets their number: that of the last refusal's container
	timer *time.Timer
}

// AdjustRefusals sets the number of refusals per second that have a record of their own, and the same number for
// questions. 0 selects the default rate.
func (s *Server) AdjustRefusals(rate int64) {
	s.refused.bucket.Adjust(rate)
	s.refused.questions.Adjust(rate)
}

// deny records that the request was refused, or counts it.
func (x *exchange) deny(ctx context.Context, dc *decidedCall, reason string) error {
	return x.denyBy(ctx, dc, approval.Answer{Reason: reason})
}

// denyBy is like deny, and records who decided.
func (x *exchange) denyBy(ctx context.Context, dc *decidedCall, a approval.Answer) error {
	r := audit.Record{Kind: audit.Deny, Reason: a.Reason, By: a.By, Request: x.req.ID, Rule: dc.v.Rule, Args: x.req.Args}
	return x.server.refused.write(ctx, r, dc.config.Audit, x.server.Log)
}

// write writes r, or counts it and makes the caller wait. Errors of later writes go to log.
func (f *refusals) write(ctx context.Context, r audit.Record, to *audit.Log, log *slog.Logger) error {
	if f.bucket.Take() {
		f.sum(log)
		return to.Write(r)
	}
	f.add(r, to, log)
	slow(ctx)
	return nil
}

// slow waits for a while. It reports false if ctx ended first.
func slow(ctx context.Context) bool {
	late := time.NewTimer(refusalDelay)
	defer late.Stop()
	select {
	case <-late.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// add counts r, and has the number written after a while.
func (f *refusals) add(r audit.Record, to *audit.Log, log *slog.Logger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		f.since = time.Now()
		f.timer = time.AfterFunc(summaryInterval, func() { f.sum(log) }) // one that runs after Wait has nothing to write
	}
	f.count++
	f.last, f.log = r, to
}

// sum writes down how many refusals have no record.
func (f *refusals) sum(log *slog.Logger) {
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
		log.Error("write the audit log", "refusals", f.count, "error", err)
	}
	f.count, f.last, f.log = 0, audit.Record{}, nil
}

// limitQuestions waits until one more question may be recorded: a container that asks and leaves could fill
// the disk, too. It reports false if ctx ended first.
func (f *refusals) limitQuestions(ctx context.Context) bool {
	for !f.questions.Take() {
		if !slow(ctx) {
			return false
		}
	}
	return true
}
