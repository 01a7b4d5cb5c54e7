// SPDX-License-Identifier: Apache-2.0

// Package limit bounds what one session may hold of the host.
//
//	Session.Take(Calls, 1) ... Give(Calls, 1)     amounts that are held for a while
//	Hold.Set(n) ... Set(m) ... Set(0)             the same of one file that grows and shrinks
//	Bucket.Take()                                 events, at a rate
//
// Its one law: a limit that nobody has set is a default, never none. A refusal is an *Error,
// which names the limit and the key of config.yaml that changes it. The package holds
// numbers only: the caller decides about the request that is refused.
package limit

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Kind is an amount that a session holds.
type Kind int

const (
	Calls     Kind = iota // commands that run or wait, jobs among them
	Processes             // of these commands, on the host
	Argv                  // bytes of requests in memory
	Spool                 // bytes of output and input that wait on the host's disk
	Requests              // files in the directories of requests
	Verbs                 // commands of hostexec's own, which start nothing
	kinds
)

// table says of each Kind where it is configured, how it is called, and its default.
var table = [kinds]struct {
	key, what string
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

// Error says that a session would hold too much of something.
type Error struct {
	Kind Kind
	Max  int64
	Pids int64 // the container's limit of processes, if that is the cause; else 0
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
	return fmt.Sprintf("limit of %s for %s (%s)", amount, t.what, from)
}

// size shows n bytes in the largest unit of which n has at least one.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	amount := float64(n)
	i := 0
	for ; amount >= 1024 && i < len(units)-1; i++ {
		amount /= 1024
	}
	return fmt.Sprintf("%.4g %s", amount, units[i])
}

// Key is where the limit is configured.
func (e *Error) Key() string { return table[e.Kind].key }

// Hint says what raises the limit.
func (e *Error) Hint() string {
	if e.Pids > 0 {
		return "a larger --pids-limit of the container raises it"
	}
	return table[e.Kind].key + " in config.yaml on the host raises it"
}

// Limits are how much of each Kind there may be; 0 is the default.
type Limits [kinds]int64

// Session counts what one session holds. Its zero value has the defaults.
type Session struct {
	mu    sync.Mutex // guards the fields below
	max   Limits
	pids  int64
	held  [kinds]int64
	waits [kinds]int64
	given chan struct{} // closed at the next Give or change; nil while nobody waits
}

// Adjust sets the limits from now on. What is held already stays.
func (s *Session) Adjust(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.max = l
	s.wakeLocked()
}

// Container tells how many processes the container may have; 0 is any number. It gets no
// more calls in flight than that, or it could have more processes by calls than without.
func (s *Session) Container(pids int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids = max(0, pids)
	s.wakeLocked()
}

// A container that may have few processes gets basic host processes, and each for every one
// of its own: a call starts a shell and what that runs, or a build.
const basic, each = 64, 16

// limitLocked is the limit of k as it is now.
func (s *Session) limitLocked(k Kind) *Error {
	of := k
	if k == Verbs {
		of = Calls // as many, beside them: a full session can still be looked at
	}
	e := &Error{Kind: k, Max: cmp.Or(s.max[of], table[of].max)}
	derived := map[Kind]int64{Calls: s.pids, Processes: basic + each*s.pids}[of]
	if s.pids > 0 && derived > 0 && derived < e.Max {
		e.Max, e.Pids = derived, s.pids
	}
	return e
}

// Limit is the limit of k as it is now, as the refusal that it would be.
func (s *Session) Limit(k Kind) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limitLocked(k)
}

// Held is how much of k is held now.
func (s *Session) Held(k Kind) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[k]
}

// Take takes n of k. The error is an *Error when that would be too much; then nothing is taken.
func (s *Session) Take(k Kind, n int64) error {
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

// Wait is Take that waits for others to give, no longer than d. No more than the limit wait.
func (s *Session) Wait(ctx context.Context, k Kind, n int64, d time.Duration) error {
	late := time.NewTimer(d)
	defer late.Stop()
	for {
		given, err := s.waitTurn(k, n)
		if given == nil {
			return err
		}
		select {
		case <-given:
			s.leave(k)
		case <-late.C:
			s.leave(k)
			return err
		case <-ctx.Done():
			s.leave(k)
			return context.Cause(ctx)
		}
	}
}

// waitTurn takes n of k, or returns what is closed when it is worth trying again.
func (s *Session) waitTurn(k Kind, n int64) (given <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.takeLocked(k, n)
	if err == nil || s.waits[k] >= s.limitLocked(k).Max {
		return nil, err
	}
	s.waits[k]++
	if s.given == nil {
		s.given = make(chan struct{})
	}
	return s.given, err
}

func (s *Session) leave(k Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits[k]--
}

// Give gives n of k back.
func (s *Session) Give(k Kind, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[k] -= n
	s.wakeLocked()
}

func (s *Session) wakeLocked() {
	if s.given != nil {
		close(s.given)
		s.given = nil
	}
}
