// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package proctree

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// member is a process of a tree. Pid and start time together name it for ever.
type member struct {
	pid   int
	start uint64
}

// sight is what one look at a tree showed.
type sight struct {
	alive []member     // parents before children
	dead  map[int]bool // whose children may have moved while it was looked
}

// ending ends all that look finds, until it finds nothing. Looking and signalling are
// repeated because a tree grows meanwhile.
type ending struct {
	look  func() sight
	group int // a process group of theirs that cannot be reused, or 0

	told   map[member]bool // who got TERM; a second one often means "at once"
	frozen map[member]bool
	beyond map[member]bool // whom this process may not signal: what sudo started
}

// run ends the tree. When news is closed it looks again at once.
func (e *ending) run(grace time.Duration, news <-chan struct{}) error {
	e.told, e.frozen, e.beyond = map[member]bool{}, map[member]bool{}, map[member]bool{}
	polite := time.Now().Add(grace)
	hopeless := polite.Add(DefaultGrace) // a process in an uninterruptible wait
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := e.left()
		switch now := time.Now(); {
		case len(left) == 0:
			return nil
		case now.Before(polite):
			e.terminate(left)
			pause = max(time.Millisecond, min(pause, polite.Sub(now)))
		case now.Before(hopeless):
			e.kill(left)
		default:
			return fmt.Errorf("%d processes do not end, one is %d", len(left), left[0].pid)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-news:
			news = nil
			timer.Stop()
		}
	}
}

// left returns who is alive and may be signalled. That nobody is counts only when all
// who were seen dead were dead in the look before: whoever dies while it is looked has
// passed its children on, to a place that was already looked at.
func (e *ending) left() []member {
	known := map[int]bool(nil)
	for {
		s := e.look()
		left := slices.DeleteFunc(s.alive, func(m member) bool { return e.beyond[m] })
		if len(left) > 0 || known != nil && contains(known, s.dead) {
			return left
		}
		known = s.dead
	}
}

func contains(set, subset map[int]bool) bool {
	for pid := range subset {
		if !set[pid] {
			return false
		}
	}
	return true
}

// terminate asks who was not asked yet to end, children before parents, and wakes who
// is stopped so that it can.
func (e *ending) terminate(left []member) {
	for _, m := range slices.Backward(left) {
		if !e.told[m] {
			e.told[m] = true
			e.send(m, unix.SIGTERM)
			e.send(m, unix.SIGCONT)
		}
	}
}

// kill stops the tree before it kills it: nobody can fork while the others are killed,
// and nobody can lose the parent that it is found by.
func (e *ending) kill(left []member) {
	if e.group > 0 {
		unix.Kill(-e.group, unix.SIGKILL) // the kernel lets no member fork meanwhile
	}
	for range 100 { // a tree that outruns this is killed in parts
		before := len(e.frozen)
		for _, m := range left {
			if !e.frozen[m] {
				e.frozen[m] = true
				e.send(m, unix.SIGSTOP)
			}
		}
		if len(e.frozen) == before {
			break
		}
		left = e.left()
	}
	for _, m := range slices.Backward(slices.Collect(maps.Keys(e.frozen))) {
		e.send(m, unix.SIGKILL)
	}
}
