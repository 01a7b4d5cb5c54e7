// SPDX-License-Identifier: Apache-2.0

package files

import (
	"maps"
	"slices"
	"time"
)

// A notification names its request, which is taken at once. The directories are read, too: one that is shared with a
// virtual machine, or by FUSE, may send no notifications, and their queue may overflow. So the interval of polling is
// short until notifications have proven to work.

const (
	// pollInterval is the interval of polling without notifications.
	pollInterval = 50 * time.Millisecond
	// idleInterval is the interval of polling where notifications work.
	idleInterval = 500 * time.Millisecond
	// maxReadInterval is the interval of polling after a notification of a request, in directories that only callers of
	// one kernel use. A directory whose time stays the same is also read at this interval, because its owner can set
	// that time.
	maxReadInterval = 5 * time.Second
	// sweepInterval is the interval at which old files are removed.
	sweepInterval = time.Minute
)

// probe is the name of a temporary file, whose creation tests the notifications.
const probe = ".probe"

// watch starts the notifications, and tests them.
func (l *Listener) watch() {
	w, err := newNotifier(l.dirs)
	if err != nil {
		l.log.Warn("no notification of files: polling", "error", err)
		return
	}
	l.notify = w
	l.eventsWork = l.selfTest()
}

// selfTest reports whether a new file causes a notification soon, in every directory.
func (l *Listener) selfTest() bool {
	timeout := time.NewTimer(time.Second)
	defer timeout.Stop()
	for _, p := range l.dirs {
		f, err := p.Dir.Create(probe, ownEntry)
		if err != nil {
			return false
		}
		f.Close()
		seen := l.await(event{p, probe}, timeout.C)
		p.Dir.Remove(probe)
		if !seen {
			l.log.Warn("notification of files does not work here: polling", "directory", p.Dir.Path())
			return false
		}
	}
	return true
}

// await drops events until last comes. The first scan finds the requests of the dropped events.
func (l *Listener) await(last event, timeout <-chan time.Time) bool {
	for {
		select {
		case ev := <-l.notify.Events:
			if ev == last {
				return true
			}
		case <-l.notify.Errors:
			return false
		case <-timeout:
			return false
		}
	}
}

// run is the loop: it takes requests after notifications, by polling, and when calls have ended.
func (l *Listener) run() {
	var events <-chan event
	var errs <-chan error
	if l.notify != nil {
		events, errs = l.notify.Events, l.notify.Errors
	}
	tick := time.NewTimer(pollInterval)
	defer tick.Stop()
	l.scan(time.Time{}) // requests from before
	l.swept = time.Now()
	due := l.swept.Add(pollInterval) // of tick
	for {
		select {
		case <-l.Done():
			return
		case ev := <-events:
			l.handleEvent(ev)
			if now := time.Now(); l.awaitsEnd() && due.Sub(now) > pollInterval { // otherwise, many events would delay the tick
				due = now.Add(pollInterval)
				tick.Reset(pollInterval)
			}
		case <-errs: // mostly an overflow of the queue
			l.scan(time.Time{})
		case <-l.load.retry:
			l.scan(time.Time{})
		case now := <-tick.C:
			l.poll(now)
			wait := l.nextPoll()
			due = time.Now().Add(wait)
			tick.Reset(wait)
		}
	}
}

// poll finds requests without notifications, and removes old files.
func (l *Listener) poll(now time.Time) {
	if now.Sub(l.swept) >= sweepInterval {
		l.swept = now
		for _, p := range l.dirs {
			p.sweep(now)
		}
	}
	l.renew(now)
	if l.scan(now) && l.missedSince.IsZero() {
		l.missedSince = now
	}
	l.checkEvents(now)
}

// nextPoll returns the time until the next poll.
func (l *Listener) nextPoll() time.Duration {
	switch {
	case !l.eventsWork || l.awaitsEnd():
		return pollInterval
	case l.announced && !slices.ContainsFunc(l.dirs, func(p *servedDir) bool { return p.Renew != nil }):
		return maxReadInterval
	}
	return idleInterval
}

// awaitsEnd reports whether a request may be unfinished.
func (l *Listener) awaitsEnd() bool {
	return slices.ContainsFunc(l.dirs, func(p *servedDir) bool { return len(p.unfinished) > 0 })
}

// checkEvents returns to frequent polling if a request was found for which no notification came within a second.
func (l *Listener) checkEvents(now time.Time) {
	if l.missedSince.IsZero() || now.Sub(l.missedSince) < time.Second {
		return
	}
	if l.eventsWork {
		l.log.Info("a request came without notification: polling")
	}
	l.eventsWork, l.announced, l.missedSince = false, false, time.Time{}
}

// handleEvent handles the file that an event names.
func (l *Listener) handleEvent(ev event) {
	id, kind, ok := split(ev.name)
	switch {
	case !ok, !slices.Contains(l.dirs, ev.p): // a directory that was deleted
	case kind == "req":
		l.eventsWork, l.announced, l.missedSince = true, true, time.Time{}
		l.take(ev.p, id)
	default:
		if c := ev.p.call(id); c != nil {
			c.checkNow()
		}
	}
}

// scan takes requests from the directories that have changed, or from all if now is zero. It reports whether it took
// one.
func (l *Listener) scan(now time.Time) (taken bool) {
	for _, p := range l.dirs {
		if !now.IsZero() && !p.changed(now) {
			continue
		}
		l.createHeartbeat(p) // a caller may have removed it, and another caller would make it with its own umask
		var ids []string
		p.Dir.Names(func(name string) bool { // a directory that cannot be read now is read the next time
			if id, kind, ok := split(name); ok && kind == "req" && !p.isDir(name) {
				ids = append(ids, id)
			}
			return len(ids) < maxCalls
		})
		// Requests that were removed are not waited for.
		maps.DeleteFunc(p.unfinished, func(id string, _ time.Time) bool { return !slices.Contains(ids, id) })
		for _, id := range ids {
			taken = l.take(p, id) || taken
		}
		if len(ids) == maxCalls { // there may be more
			l.load.noteSkipped()
		}
	}
	return taken
}
