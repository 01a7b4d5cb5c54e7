// SPDX-License-Identifier: Apache-2.0

// Package limit limits the host resources that one session may use.
//
//	Session.Acquire(Calls, 1) ... Release(Calls, 1)  amounts in use for a while
//	Reservation.Set(n) ... Set(m) ... Set(0)         the amount of one file that grows and shrinks
//	TokenBucket.Take()                               events, at a rate
//	Credit.Take(n) ... Give(n)                       bytes that a receiver accepts
//	Buffer, Prefix                                   a command's output, up to a size
//
// A limit of config.yaml that is not configured has a default, never infinity. A refusal of Session or Reservation is
// an *Error, which names the limit and the key that changes it. The package only counts; the caller handles the refused
// request.
package limit

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/broadcast"
)

// Kind is a resource that a session uses.
type Kind int

const (
	Calls     Kind = iota // commands that run or wait, including jobs
	Processes             // of these commands, on the host
	Argv                  // bytes of requests in memory
	Spool                 // bytes of output and input stored on the host's disk
	Requests              // files in the request directories
	Verbs                 // calls of hostexec ls, ps, logs, wait, kill and session
	kinds
)

// table holds the configuration key, the name and the default of each Kind.
var table = [kinds]struct {
	key, name string
	bytes     bool
	max       int64
}{
	Calls:     {"limits.calls", "calls in flight", false, 1024},
	Processes: {"limits.processes", "processes of a session", false, 4096},
	Argv:      {"limits.argv", "arguments of calls in flight", true, 64 << 20},
	Spool:     {"limits.spool", "data that waits on the host's disk", true, 1 << 30},
	Requests:  {"limits.requests", "files in the directories of requests", false, 16384},
	Verbs:     {"limits.calls", "hostexec's own commands in flight", false, 1024},
}

// Error is the refusal of a request that exceeds a limit.
type Error struct {
	Kind Kind
	Max  int64
	Pids int64 // the container's process limit, if it is the cause; else 0
}

func (e *Error) Error() string {
	t := table[e.Kind]
	amount, from := fmt.Sprint(e.Max), t.key
	if t.bytes {
		amount = size(e.Max)
	}
	if e.Pids > 0 {
		from = fmt.Sprintf("the container has --pids-limit %d", e.Pids)
	}
	return fmt.Sprintf("limit of %s for %s (%s)", amount, t.name, from)
}

// size formats n bytes in the largest unit of which n has at least one.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	amount := float64(n)
	i := 0
	for ; amount >= 1024 && i < len(units)-1; i++ {
		amount /= 1024
	}
	return fmt.Sprintf("%.4g %s", amount, units[i])
}

// Key returns the configuration key of the limit.
func (e *Error) Key() string { return table[e.Kind].key }

// Hint describes how to raise the limit.
func (e *Error) Hint() string {
	if e.Pids > 0 {
		return "a larger --pids-limit of the container raises it"
	}
	return table[e.Kind].key + " in config.yaml on the host raises it"
}

// Limits are the maximum amounts of each Kind. 0 means the default. The limit of Verbs is always that of Calls.
type Limits [kinds]int64

// Session counts the resources of one session. The zero value has the default limits.
type Session struct {
	mu      sync.Mutex // guards the fields below
	max     Limits
	pids    int64
	held    [kinds]int64
	waiting [kinds]int64
	changed broadcast.Event // sent at a Release or a change
}

// Adjust sets the limits for future requests. Resources in use are not affected.
func (s *Session) Adjust(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.max = l
	s.changed.Send()
}

// SetPidsLimit sets the container's process limit; 0 means no limit. Calls, Verbs and Processes are limited by it, too.
// Otherwise a container could run many more processes by calls than its limit permits.
func (s *Session) SetPidsLimit(pids int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids = max(0, pids)
	s.changed.Send()
}

// A container with a process limit may use basePids host processes, and pidsPerProcess more for each process of its
// limit. One call can start a shell with its commands, or a build.
const basePids, pidsPerProcess = 64, 16

// limitLocked returns the current limit of k.
func (s *Session) limitLocked(k Kind) *Error {
	limited := k
	if k == Verbs {
		limited = Calls // a separate equal limit, so that verbs work in a session without free calls
	}
	e := &Error{Kind: k, Max: cmp.Or(s.max[limited], table[limited].max)}
	derived := map[Kind]int64{Calls: s.pids, Processes: basePids + pidsPerProcess*s.pids}[limited]
	if s.pids > 0 && derived > 0 && derived < e.Max {
		e.Max, e.Pids = derived, s.pids
	}
	return e
}

// Limit returns the error with which Acquire refuses k at present.
func (s *Session) Limit(k Kind) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limitLocked(k)
}

// Held returns the amount of k in use.
func (s *Session) Held(k Kind) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[k]
}

// Acquire adds n to the amount of k in use. If that exceeds the limit, Acquire returns an *Error and
// changes nothing.
func (s *Session) Acquire(k Kind, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(k, n)
}

func (s *Session) takeLocked(k Kind, n int64) error {
	if e := s.limitLocked(k); n > e.Max-s.held[k] {
		return e
	}
	s.held[k] += n
	return nil
}

// Wait is Acquire, but waits at most d for other callers to release theirs. The number of waiting callers is limited to
// the limit of k.
func (s *Session) Wait(ctx context.Context, k Kind, n int64, d time.Duration) error {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for {
		retry, err := s.tryTake(k, n)
		if retry == nil {
			return err
		}
		select {
		case <-retry:
			s.stopWaiting(k)
		case <-timeout.C:
			s.stopWaiting(k)
			return err
		case <-ctx.Done():
			s.stopWaiting(k)
			return context.Cause(ctx)
		}
	}
}

// tryTake takes n of k. If the caller should wait, it returns a channel that is closed when a retry is useful.
func (s *Session) tryTake(k Kind, n int64) (retry <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.takeLocked(k, n)
	if err == nil || s.waiting[k] >= s.limitLocked(k).Max {
		return nil, err
	}
	s.waiting[k]++
	return s.changed.Next(), err
}

func (s *Session) stopWaiting(k Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[k]--
}

// Release subtracts n from the amount of k in use.
func (s *Session) Release(k Kind, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[k] -= n
	s.changed.Send()
}
