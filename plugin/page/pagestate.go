// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/broadcast"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// pageState holds the state of all sessions that the page shows. Watchers report waiting questions while the page
// watches them: while a browser is connected, for idleDelay afterwards, and always if Page.Open is set. At other times
// the page must not count as an approver. Running calls, grants, denials and ended requests are polled, every second
// and when a session changes, while a browser is connected. It has a field for each kind of thing that the page shows,
// all under one lock, so that a browser gets consistent lists.
type pageState struct {
	store  *state.Store
	always bool // Page.Open is set

	mu             sync.Mutex // guards the fields below
	streams        int        // connected browsers
	lastDisconnect time.Time  // when the last browser disconnected
	watched        map[string]*sessionWatch
	served         []control.Summary
	granted        []control.StandingAnswer
	denied         []control.StandingAnswer
	history        []control.Event
	log            os.FileInfo // of the audit log when history was read
	ended          []card      // settled questions, oldest first
	rounds         int         // number of finished calls of poll
	pendingChange  bool        // poll has to report a change
	changed        broadcast.Event
	wake           chan struct{} // buffer of one: a value starts poll at once
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
func (ps *pageState) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ps.store.OnChange(ctx, ps.wake, func() { ps.poll(ctx, &wg) })
}

// poll starts to watch new sessions and polls all sessions if a browser is connected.
func (ps *pageState) poll(ctx context.Context, wg *sync.WaitGroup) {
	if !ps.wanted() {
		ps.stopWatching()
		return
	}
	recs, _ := ps.store.List() // the records that can be read
	for _, rec := range recs {
		if s, ctx := ps.addSession(ctx, rec.ID); s != nil {
			// Ends when the session's watcher ends, or with ctx.
			wg.Go(func() { ps.watch(ctx, rec.ID, s) })
		}
	}
	if ps.browsers() > 0 {
		ps.refresh(ctx)
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.rounds++
	if ps.pendingChange {
		ps.pendingChange = false
		ps.changed.Send()
	}
}

func (ps *pageState) wanted() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.always || ps.streams > 0 || time.Since(ps.lastDisconnect) < idleDelay
}

// stopWatching stops watching all sessions.
func (ps *pageState) stopWatching() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, s := range ps.watched {
		s.cancel()
	}
}

// addSession returns a new sessionWatch for a session, or nil if it has one.
func (ps *pageState) addSession(ctx context.Context, session string) (*sessionWatch, context.Context) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.watched[session] != nil {
		return nil, nil
	}
	ctx, leave := context.WithCancel(ctx)
	s := &sessionWatch{cancel: leave}
	ps.watched[session] = s
	return s, ctx
}

// watch follows the waiting questions of a session until its watcher stops answering.
func (ps *pageState) watch(ctx context.Context, session string, s *sessionWatch) {
	defer s.cancel()
	c := control.Dial(ps.store.Dir(session))
	defer c.Close()
	_ = c.Watch(ctx, func(all []control.Question) { ps.set(s, all) }) // run tries again
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.watched, session)
	ps.setLocked(s, nil)
}

// set stores the waiting questions of a session.
func (ps *pageState) set(s *sessionWatch, all []control.Question) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	s.reported = true
	ps.setLocked(s, all)
}

func (ps *pageState) setLocked(s *sessionWatch, all []control.Question) {
	for _, q := range s.waiting {
		if !slices.ContainsFunc(all, func(now control.Question) bool { return now.ID == q.ID }) {
			ps.endLocked(newEndedCard(q, endOutcome(q, time.Now())))
		}
	}
	s.waiting = all
	ps.changed.Send()
}

// refresh polls running calls, grants, denials and ended requests.
func (ps *pageState) refresh(ctx context.Context) {
	var granted, denied []control.StandingAnswer
	var others sync.WaitGroup
	// end with the answers, or after ReplyTimeout.
	others.Go(func() { granted = answers(ctx, ps.store, control.KindGrant) })
	others.Go(func() { denied = answers(ctx, ps.store, control.KindDenial) })
	served, err := sessionStates(ctx, ps.store)
	others.Wait()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if err == nil && !reflect.DeepEqual(served, ps.served) {
		ps.served, ps.pendingChange = served, true
	}
	if !reflect.DeepEqual(granted, ps.granted) {
		ps.granted, ps.pendingChange = granted, true
	}
	if !reflect.DeepEqual(denied, ps.denied) {
		ps.denied, ps.pendingChange = denied, true
	}
	fi, err := os.Stat(ps.store.Audit())
	if err != nil || ps.log != nil && fi.Size() == ps.log.Size() && fi.ModTime().Equal(ps.log.ModTime()) {
		return
	}
	if past, err := control.History(ps.store.Audit(), ""); err == nil {
		ps.history, ps.log, ps.pendingChange = past, fi, true
	}
}

// questions returns the waiting questions, oldest first.
func (ps *pageState) questions() (all []control.Question) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, s := range ps.watched {
		all = append(all, s.waiting...)
	}
	slices.SortStableFunc(all, func(a, b control.Question) int { return a.Asked.Compare(b.Asked) })
	return all
}

// lists returns the sessions, the grants, the denials and the ended requests.
func (ps *pageState) lists() (served []control.Summary, granted, denied []control.StandingAnswer, past []control.Event) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.served, ps.granted, ps.denied, ps.history
}

// wakeUp starts a round at once.
func (ps *pageState) wakeUp() {
	select {
	case ps.wake <- struct{}{}:
	default: // a wakeup is pending already
	}
}

// sessions returns the number of watched sessions that have reported.
func (ps *pageState) sessions() (n int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, s := range ps.watched {
		if s.reported {
			n++
		}
	}
	return n
}

// Changed returns a channel that is closed at the next change.
func (ps *pageState) Changed() <-chan struct{} { return ps.changed.Next() }
