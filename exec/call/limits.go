// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// slotWait is the time for which a call waits for the end of another one if the session has reached its limit. A
// caller may return with its next call before the server has released its last one.
const slotWait = time.Second

// reservation is a request's share of its session's limits, until it is released.
type reservation struct {
	from    *limit.Session
	refresh func()           // reads the limits of the configuration again
	report  func(argv int64) // may be nil
	once    sync.Once
	held    map[limit.Kind]int64 // one goroutine's at a time
}

func (s *Server) newReservation() *reservation {
	return &reservation{from: &s.Limits, refresh: func() { s.now() }, report: s.Memory, held: map[limit.Kind]int64{}}
}

// reportMemory reports the size of all requests when a long request begins or ends.
func (h *reservation) reportMemory() {
	if h.report != nil && h.held[limit.Argv] > firstRead {
		h.report(h.from.Held(limit.Argv))
	}
}

// take takes n of k, or returns the reason why it cannot.
func (h *reservation) take(k limit.Kind, n int64) error {
	err := h.from.Acquire(k, n)
	if err == nil {
		h.held[k] += n
	}
	return err
}

// wait is take, but if the limit is reached, it reads the configuration again, and waits a moment for others to
// release theirs.
func (h *reservation) wait(ctx context.Context, k limit.Kind, n int64) error {
	if h.take(k, n) == nil {
		return nil
	}
	h.refresh()
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
			h.from.Release(k, n)
		}
		h.reportMemory()
	})
}

// enter counts the call among those in flight until its reservation is released. If there are too many
// calls or processes, enter answers the caller, and entered is false.
func (x *exchange) enter(ctx context.Context, k limit.Kind) (entered bool, err error) {
	err = x.req.holding.wait(ctx, k, 1)
	if err == nil && k == limit.Calls {
		if err = x.server.counter.full(x.server); err != nil {
			x.server.now() // the configuration may have a higher limit by now
			err = x.server.counter.full(x.server)
		}
	}
	if err == nil {
		return true, nil
	}
	var over *limit.Error
	if !errors.As(err, &over) {
		return false, fmt.Errorf("request %s: %w", x.req.ID, err)
	}
	return false, x.refuseOver(ctx, over)
}

// refuseOver refuses the call because of a limit, and answers the caller.
func (x *exchange) refuseOver(ctx context.Context, over *limit.Error) error {
	dc := refusedByLimit(x.server.config.Load(), over)
	return errors.Join(x.deny(ctx, dc, over.Error()), x.peer.end(overLimit(x.req, &policy.Verdict{}, over)))
}

// refusedByLimit returns the call for the record of a refusal that no rule has decided.
func refusedByLimit(sc *SessionConfig, over *limit.Error) *decidedCall {
	return &decidedCall{config: sc, v: policy.Verdict{Rule: over.Key()}}
}

// firstRead is the number of bytes of a request that are reserved and read before the rest.
const firstRead = 16 << 10

// readCounted reads a request of n bytes. It allocates at most firstRead bytes before it reserves memory. It reserves
// the rest at once, so that of many long requests some are served. The rest is reserved only after the beginning has
// arrived, because a caller may announce megabytes and send nothing. Without memory for the rest, it returns the
// beginning and discards the rest, so that the caller can read the answer.
func readCounted(r io.Reader, n int, held *reservation) (string, error) {
	first := min(n, firstRead)
	ctx := context.Background() // the limiter of connections sets a deadline
	if err := held.wait(ctx, limit.Argv, int64(first)); err != nil {
		return "", errors.Join(err, copyWhole(io.Discard, r, n))
	}
	var b strings.Builder
	b.Grow(first)
	if err := copyWhole(&b, r, first); err != nil || first == n {
		return b.String(), err
	}
	if err := held.wait(ctx, limit.Argv, int64(n-first)); err != nil {
		return b.String(), errors.Join(err, copyWhole(io.Discard, r, n-first))
	}
	held.reportMemory()
	b.Grow(n - first)
	err := copyWhole(&b, r, n-first)
	return b.String(), err
}

// copyWhole copies n bytes, or fails.
func copyWhole(w io.Writer, r io.Reader, n int) error {
	if _, err := io.CopyN(w, r, int64(n)); err != nil {
		return io.ErrUnexpectedEOF
	}
	return nil
}
