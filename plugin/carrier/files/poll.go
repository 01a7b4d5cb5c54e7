// SPDX-License-Identifier: Apache-2.0

package files

import (
	"maps"
	"slices"
	"time"
)

// Requests are found by looking. Events only say that it is worth looking now: a directory
// that is shared with a virtual machine, or by FUSE, may have none, and a queue of events
// may run over. So one looks often as long as it is not known that events come.

const (
	// polling is how often one looks when that is all there is.
	polling = 50 * time.Millisecond
	// idling is how often one looks where events have proven to come.
	idling = 500 * time.Millisecond
	// forcedPoll is how often a directory is read whether it seems to have changed or not: its
	// owner can set its time.
	forcedPoll = 5 * time.Second
	// sweeping is how often what nobody has fetched is looked for.
	sweeping = time.Minute
)

// probe is what a box has for a moment, so that its event tells that events come.
const probe = ".probe"

// watch asks to be told of changes, and proves that it is: each directory gets a file whose
// event is awaited in the loop.
func (l *Listener) watch() {
	w, err := newNotifier(l.places)
	if err != nil {
		l.log.Warn("no notification of files: polling", "error", err)
		return
	}
	l.notify = w
	l.eventsWork = l.selfTest()
}

// selfTest reports whether a file that is made is told of soon, in every directory.
func (l *Listener) selfTest() bool {
	late := time.NewTimer(time.Second)
	defer late.Stop()
	for _, p := range l.places {
		f, err := p.Dir.Create(probe, ownEntry)
		if err != nil {
			return false
		}
		f.Close()
		seen := l.await(event{p, probe}, late.C)
		p.Dir.Remove(probe)
		if !seen {
			l.log.Warn("notification of files does not work here: polling", "directory", p.Dir.Path())
			return false
		}
	}
	return true
}

// await drops events until that one comes. What they tell of is found by the first look.
func (l *Listener) await(last event, late <-chan time.Time) bool {
	for {
		select {
		case ev := <-l.notify.Events:
			if ev == last {
				return true
			}
		case <-l.notify.Errors:
			return false
		case <-late:
			return false
		}
	}
}

// look is the loop: it takes requests by events, by polling and when there is room again.
func (l *Listener) look() {
	var events <-chan event
	var errs <-chan error
	if l.notify != nil {
		events, errs = l.notify.Events, l.notify.Errors
	}
	tick := time.NewTimer(polling)
	defer tick.Stop()
	l.scan(time.Time{}) // what was there before
	swept := time.Now()
	for {
		select {
		case <-l.done:
			return
		case ev := <-events:
			l.handleEvent(ev)
			continue
		case <-errs: // the queue has run over, mostly
			l.scan(time.Time{})
		case <-l.again:
			l.scan(time.Time{})
		case now := <-tick.C:
			if now.Sub(swept) >= sweeping {
				swept = now
				for _, p := range l.places {
					p.sweep(now)
					l.share(p)
				}
			}
			l.renew(now)
			if l.scan(now) && l.missedSince.IsZero() {
				l.missedSince = now
			}
			l.checkEvents(now)
			tick.Reset(l.nextPoll())
		}
	}
}

// nextPoll is how long until the next look.
func (l *Listener) nextPoll() time.Duration {
	if l.eventsWork && !l.awaitsEnd() {
		return idling
	}
	return polling
}

// awaitsEnd reports whether a request waits for its end to be written.
func (l *Listener) awaitsEnd() bool {
	return slices.ContainsFunc(l.places, func(p *requestDir) bool { return len(p.empty) > 0 })
}

// checkEvents has one look more often when a request was found of which no event tells, not even
// a second later.
func (l *Listener) checkEvents(now time.Time) {
	if l.missedSince.IsZero() || now.Sub(l.missedSince) < time.Second {
		return
	}
	if l.eventsWork {
		l.log.Info("a request came without notification: polling")
	}
	l.eventsWork, l.missedSince = false, time.Time{}
}

// noteEvent takes an event of a request as the proof that events come.
func (l *Listener) noteEvent() { l.eventsWork, l.missedSince = true, time.Time{} }

// handleEvent takes an event for what it is worth: a name to look at.
func (l *Listener) handleEvent(ev event) {
	id, what, ok := split(ev.name)
	switch {
	case !ok, !slices.Contains(l.places, ev.p): // a directory that was deleted
	case what == "req":
		l.noteEvent()
		l.take(ev.p, id)
	default:
		if c := ev.p.call(id); c != nil {
			c.lookNow()
		}
	}
}

// scan reads the directories that have changed since they were read, all of them if now is
// zero. It reports whether a request was taken.
func (l *Listener) scan(now time.Time) (taken bool) {
	for _, p := range l.places {
		if !now.IsZero() && !p.changed(now) {
			continue
		}
		var ids []string
		p.Dir.Names(func(name string) bool { // what cannot be read now is read the next time
			if id, what, ok := split(name); ok && what == "req" && !p.blocked(name) {
				ids = append(ids, id)
			}
			return len(ids) < maxFlying
		})
		// Who thought better of a request is not waited for.
		maps.DeleteFunc(p.empty, func(id string, _ time.Time) bool { return !slices.Contains(ids, id) })
		for _, id := range ids {
			taken = l.take(p, id) || taken
		}
		if len(ids) == maxFlying { // there may be more
			l.leaveSome()
		}
	}
	return taken
}

// blocked reports whether there is a directory under the name of a request: it stays, and is
// not to keep others from being heard.
func (p *requestDir) blocked(name string) bool {
	e, err := p.Dir.Stat(name)
	return err == nil && e.Dir
}

// changed reports whether the directory is to be read: it has a new time, one so young that
// something may have come in it since, or it was not read for long. One with an empty
// request is: that may be a beginning.
func (p *requestDir) changed(now time.Time) bool {
	mod, err := p.Dir.Mod()
	if err != nil {
		return false
	}
	young := now.Sub(mod) < time.Second && now.After(mod)
	if mod.Equal(p.mod) && !young && now.Sub(p.read) < forcedPoll && len(p.empty) == 0 {
		return false
	}
	p.mod, p.read = mod, now
	return true
}
