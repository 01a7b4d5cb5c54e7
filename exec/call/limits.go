// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// slotWait is how long a call waits for another one to end when a session has as many as it
// may. A caller that was answered may be back before its last call has let go.
const slotWait = time.Second

// reservation is what a request holds of its session's limits until it is released.
type reservation struct {
	from   *limit.Session
	report func(argv int64) // nil tells nobody
	once   sync.Once
	held   map[limit.Kind]int64 // one goroutine's at a time
}

func (s *Server) newReservation() *reservation {
	return &reservation{from: &s.Limits, report: s.Memory, held: map[limit.Kind]int64{}}
}

// long tells how much all requests hold when this one, which is a long one, has begun or ended.
func (h *reservation) long() {
	if h.report != nil && h.held[limit.Argv] > chunk {
		h.report(h.from.Held(limit.Argv))
	}
}

// take takes n of k, or says why it cannot.
func (h *reservation) take(k limit.Kind, n int64) error {
	err := h.from.Take(k, n)
	if err == nil {
		h.held[k] += n
	}
	return err
}

// wait is take that waits a moment for others to give.
func (h *reservation) wait(ctx context.Context, k limit.Kind, n int64) error {
	err := h.from.Wait(ctx, k, n, slotWait)
	if err == nil {
		h.held[k] += n
	}
	return err
}

// release gives everything back. A second call does nothing.
func (h *reservation) release() {
	h.once.Do(func() {
		for k, n := range h.held {
			h.from.Give(k, n)
		}
		h.long()
	})
}

// enter counts the call among those in flight, until its holding is released. When there are
// too many, or too many processes, the caller is told and entered is false.
func (s *Server) enter(ctx context.Context, p *peer, req *request, k limit.Kind) (entered bool, err error) {
	err = req.holding.wait(ctx, k, 1)
	if err == nil && k == limit.Calls {
		err = s.counter.full()
	}
	if err == nil {
		return true, nil
	}
	var over *limit.Error
	if !errors.As(err, &over) {
		return false, fmt.Errorf("request %s: %w", req.ID, err)
	}
	w := limited(s.state.Load(), over)
	return false, errors.Join(s.deny(ctx, w, req, over.Error()), p.end(overLimit(req, policy.Verdict{}, over)))
}

// limited is what a record of a refusal is made of that no rule has decided.
func limited(sc *SessionState, over *limit.Error) *authorizedCall {
	return &authorizedCall{state: sc, v: policy.Verdict{Rule: over.Key()}}
}

// chunk is how much of a request is counted and read at first, before the rest is.
const chunk = 16 << 10

// readCounted reads a request of n bytes, which are counted before there is memory for them:
// all of the rest at once, so that of many long requests that come together some are served,
// and only when the beginning is there, for who announces two megabytes may send none. When
// there is no memory it returns the beginning, and the rest is read and dropped: the caller
// has to be able to hear the answer.
func readCounted(r io.Reader, n int, held *reservation) ([]byte, error) {
	first := make([]byte, min(n, chunk))
	ctx := context.Background() // the gate has a deadline for callers
	if err := held.wait(ctx, limit.Argv, int64(len(first))); err != nil {
		return nil, errors.Join(err, drop(r, n))
	}
	if _, err := io.ReadFull(r, first); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	if len(first) == n {
		return first, nil
	}
	if err := held.wait(ctx, limit.Argv, int64(n-len(first))); err != nil {
		return first, errors.Join(err, drop(r, n-len(first)))
	}
	held.long()
	b := make([]byte, n)
	copy(b, first)
	if _, err := io.ReadFull(r, b[len(first):]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}

// drop reads n bytes and forgets them.
func drop(r io.Reader, n int) error {
	if _, err := io.CopyN(io.Discard, r, int64(n)); err != nil {
		return io.ErrUnexpectedEOF
	}
	return nil
}
