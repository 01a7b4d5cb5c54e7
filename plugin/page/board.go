// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// board holds the state of all sessions that the page shows. Watchers report waiting questions. The board
// polls the rest every second: running calls, grants and ended requests. It does so only while a browser
// is connected or Page.Open is set, because a client that watches a session counts as an approver.
type board struct {
	store  *state.Store
	always bool

	mu      sync.Mutex // guards the fields below
	streams int        // connected browsers
	left    time.Time  // when the last browser disconnected
	seats   map[string]*seat
	served  []control.Summary
	granted []control.Grant
	past    []control.Event
	log     os.FileInfo   // of the audit log when past was read
	ended   []card        // settled questions, oldest first
	rounds  int           // number of finished rounds
	news    bool          // a round found changes to report
	changed chan struct{} // closed at the next change; nil if nobody waits
	wake    chan struct{} // buffer of one: a value starts a round at once
}

// seat is the connection to one session's watcher.
type seat struct {
	leave   context.CancelFunc
	heard   bool
	waiting []control.Question
}

// linger is how long sessions are watched after the last browser has disconnected, because it may be
// reloading the page.
const linger = 5 * time.Second

func newBoard(store *state.Store, always bool) *board {
	return &board{store: store, always: always, seats: map[string]*seat{}, wake: make(chan struct{}, 1)}
}

// run updates the board until ctx is done. It returns after all watch goroutines have ended.
func (b *board) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		b.round(ctx, &wg)
		select {
		case <-tick.C:
		case <-b.wake:
		case <-ctx.Done():
			return
		}
	}
}

// round starts to watch new sessions and polls all sessions if a browser is connected.
func (b *board) round(ctx context.Context, wg *sync.WaitGroup) {
	if !b.wanted() {
		b.dismiss()
		return
	}
	recs, _ := b.store.List() // the records that can be read
	for _, rec := range recs {
		if s, ctx := b.seat(ctx, rec.ID); s != nil {
			// Ends when the session's watcher ends, or with ctx.
			wg.Go(func() { b.watch(ctx, rec.ID, s) })
		}
	}
	if b.browsers() > 0 {
		b.look(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rounds++
	if b.news {
		b.news = false
		b.changeLocked()
	}
}

func (b *board) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.always || b.streams > 0 || time.Since(b.left) < linger
}

// dismiss stops watching all sessions.
func (b *board) dismiss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.seats {
		s.leave()
	}
}

// seat returns a new seat for a session, or nil if it has one.
func (b *board) seat(ctx context.Context, session string) (*seat, context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seats[session] != nil {
		return nil, nil
	}
	ctx, leave := context.WithCancel(ctx)
	s := &seat{leave: leave}
	b.seats[session] = s
	return s, ctx
}

// watch follows the waiting questions of a session until its watcher stops answering.
func (b *board) watch(ctx context.Context, session string, s *seat) {
	defer s.leave()
	c := control.Dial(b.store.Dir(session))
	defer c.Close()
	_ = c.Watch(ctx, func(all []control.Question) { b.set(s, all) }) // run tries again in a second
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.seats, session)
	b.setLocked(s, nil)
}

// set stores the waiting questions of a session.
func (b *board) set(s *seat, all []control.Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.heard = true
	b.setLocked(s, all)
}

func (b *board) setLocked(s *seat, all []control.Question) {
	for _, q := range s.waiting {
		if !slices.ContainsFunc(all, func(now control.Question) bool { return now.ID == q.ID }) {
			b.endLocked(q, gone(q, time.Now()))
		}
	}
	s.waiting = all
	b.changeLocked()
}

// look polls running calls, grants and ended requests.
func (b *board) look(ctx context.Context) {
	served, err := survey(ctx, b.store)
	granted := grants(ctx, b.store)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && !reflect.DeepEqual(served, b.served) {
		b.served, b.news = served, true
	}
	if !reflect.DeepEqual(granted, b.granted) {
		b.granted, b.news = granted, true
	}
	fi, err := os.Stat(b.store.Audit())
	if err != nil || b.log != nil && fi.Size() == b.log.Size() && fi.ModTime().Equal(b.log.ModTime()) {
		return
	}
	if past, err := control.History(b.store.Audit(), ""); err == nil {
		b.past, b.log, b.news = past, fi, true
	}
}

// questions returns the waiting questions, oldest first.
func (b *board) questions() (all []control.Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.seats {
		all = append(all, s.waiting...)
	}
	slices.SortStableFunc(all, byAge)
	return all
}

// facts returns the sessions, the grants and the ended requests.
func (b *board) facts() (served []control.Summary, granted []control.Grant, past []control.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served, b.granted, b.past
}

// hurry starts a round at once.
func (b *board) hurry() {
	select {
	case b.wake <- struct{}{}:
	default: // a wakeup is pending already
	}
}

// sessions returns the number of watched sessions that have reported.
func (b *board) sessions() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.seats {
		if s.heard {
			n++
		}
	}
	return n
}

// Changed returns a channel that is closed at the next change.
func (b *board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

func (b *board) changeLocked() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}
