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

// pageState holds the state of all sessions that the page shows. Watchers report waiting questions. The page
// polls the rest every second: running calls, grants, denials and ended requests. It does so only while a browser
// is connected or Page.Open is set, because a client that watches a session counts as an approver. It has a
// field for each kind of thing that the page shows, all under one lock, so that a browser gets consistent lists.
type pageState struct {
	store  *state.Store
	always bool

	mu             sync.Mutex // guards the fields below
	streams        int        // connected browsers
	lastDisconnect time.Time  // when the last browser disconnected
	watched        map[string]*sessionWatch
	served         []control.Summary
	granted        []control.Grant
	denied         []control.Grant
	history        []control.Event
	log            os.FileInfo   // of the audit log when past was read
	ended          []card        // settled questions, oldest first
	rounds         int           // number of finished rounds
	pendingChange  bool          // a round found changes to report
	changed        chan struct{} // closed at the next change; nil if no goroutine waits
	wake           chan struct{} // buffer of one: a value starts a round at once
}

// sessionWatch is the connection to one session's watcher.
type sessionWatch struct {
	cancel   context.CancelFunc
	reported bool
	waiting  []control.Question
}

// idleDelay is how long sessions are watched after the last browser has disconnected, because it may be
// reloading the page.
const idleDelay = 5 * time.Second

func newPageState(store *state.Store, always bool) *pageState {
	return &pageState{store: store, always: always, watched: map[string]*sessionWatch{}, wake: make(chan struct{}, 1)}
}

// run updates the state until ctx is done. It returns after all watch goroutines have ended.
func (b *pageState) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		b.poll(ctx, &wg)
		select {
		case <-tick.C:
		case <-b.wake:
		case <-ctx.Done():
			return
		}
	}
}

// poll starts to watch new sessions and polls all sessions if a browser is connected.
func (b *pageState) poll(ctx context.Context, wg *sync.WaitGroup) {
	if !b.wanted() {
		b.stopWatching()
		return
	}
	recs, _ := b.store.List() // the records that can be read
	for _, rec := range recs {
		if s, ctx := b.addSession(ctx, rec.ID); s != nil {
			// Ends when the session's watcher ends, or with ctx.
			wg.Go(func() { b.watch(ctx, rec.ID, s) })
		}
	}
	if b.browsers() > 0 {
		b.refresh(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rounds++
	if b.pendingChange {
		b.pendingChange = false
		b.changeLocked()
	}
}

func (b *pageState) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.always || b.streams > 0 || time.Since(b.lastDisconnect) < idleDelay
}

// stopWatching stops watching all sessions.
func (b *pageState) stopWatching() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.watched {
		s.cancel()
	}
}

// addSession returns a new sessionWatch for a session, or nil if it has one.
func (b *pageState) addSession(ctx context.Context, session string) (*sessionWatch, context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched[session] != nil {
		return nil, nil
	}
	ctx, leave := context.WithCancel(ctx)
	s := &sessionWatch{cancel: leave}
	b.watched[session] = s
	return s, ctx
}

// watch follows the waiting questions of a session until its watcher stops answering.
func (b *pageState) watch(ctx context.Context, session string, s *sessionWatch) {
	defer s.cancel()
	c := control.Dial(b.store.Dir(session))
	defer c.Close()
	_ = c.Watch(ctx, func(all []control.Question) { b.set(s, all) }) // run tries again in a second
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watched, session)
	b.setLocked(s, nil)
}

// set stores the waiting questions of a session.
func (b *pageState) set(s *sessionWatch, all []control.Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.reported = true
	b.setLocked(s, all)
}

func (b *pageState) setLocked(s *sessionWatch, all []control.Question) {
	for _, q := range s.waiting {
		if !slices.ContainsFunc(all, func(now control.Question) bool { return now.ID == q.ID }) {
			b.endLocked(newEndedCard(q, gone(q, time.Now())))
		}
	}
	s.waiting = all
	b.changeLocked()
}

// refresh polls running calls, grants, denials and ended requests.
func (b *pageState) refresh(ctx context.Context) {
	served, err := sessionStates(ctx, b.store)
	granted := answers(ctx, b.store, control.EffectGrant)
	denied := answers(ctx, b.store, control.EffectDenial)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && !reflect.DeepEqual(served, b.served) {
		b.served, b.pendingChange = served, true
	}
	if !reflect.DeepEqual(granted, b.granted) {
		b.granted, b.pendingChange = granted, true
	}
	if !reflect.DeepEqual(denied, b.denied) {
		b.denied, b.pendingChange = denied, true
	}
	fi, err := os.Stat(b.store.Audit())
	if err != nil || b.log != nil && fi.Size() == b.log.Size() && fi.ModTime().Equal(b.log.ModTime()) {
		return
	}
	if past, err := control.History(b.store.Audit(), ""); err == nil {
		b.history, b.log, b.pendingChange = past, fi, true
	}
}

// questions returns the waiting questions, oldest first.
func (b *pageState) questions() (all []control.Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.watched {
		all = append(all, s.waiting...)
	}
	slices.SortStableFunc(all, byAge)
	return all
}

// lists returns the sessions, the grants, the denials and the ended requests.
func (b *pageState) lists() (served []control.Summary, granted, denied []control.Grant, past []control.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served, b.granted, b.denied, b.history
}

// wakeUp starts a round at once.
func (b *pageState) wakeUp() {
	select {
	case b.wake <- struct{}{}:
	default: // a wakeup is pending already
	}
}

// sessions returns the number of watched sessions that have reported.
func (b *pageState) sessions() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.watched {
		if s.reported {
			n++
		}
	}
	return n
}

// Changed returns a channel that is closed at the next change.
func (b *pageState) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

func (b *pageState) changeLocked() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}
