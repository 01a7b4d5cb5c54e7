// SPDX-License-Identifier: Apache-2.0

package files

import "time"

// A directory of requests can be deleted while it is served, by git clean -fdx for example. Requests
// in a new directory of the same name would then wait for ever.

// minRenewInterval and maxRenewInterval are the limits of the time between two attempts to create a directory again.
// The interval doubles while the directory is deleted repeatedly, because creating it costs more than deleting it.
const minRenewInterval, maxRenewInterval = time.Second, time.Minute

// renew creates and serves again directories that were deleted or replaced, and repairs the others.
func (l *Listener) renew(now time.Time) {
	for i, p := range l.dirs {
		if l.refusing() {
			return
		}
		if p.Renew == nil || now.Sub(p.renewTried) < p.wait || p.Dir.InPlace() {
			l.repair(p, now)
			continue
		}
		wait := nextWait(p.wait, now.Sub(p.renewTried))
		p.renewTried = now
		if next := l.renewed(p); next != nil {
			next.renewTried, next.wait = now, wait
			l.dirs[i] = next
			p.retire()
		}
	}
}

// repair writes deleted clients of a directory again, at most once in minRenewInterval, because callers can delete them
// repeatedly.
func (l *Listener) repair(p *servedDir, now time.Time) {
	if p.Repair == nil || now.Sub(p.repairTried) < minRenewInterval {
		return
	}
	p.repairTried = now
	if err := p.Repair(); err != nil {
		l.log.Warn("the client is missing in the directory of requests", "directory", p.Dir.Path(), "error", err)
	}
}

// nextWait returns the pause before the next attempt to renew. wait was the pause before the last attempt, and since
// the time after it.
func nextWait(wait, since time.Duration) time.Duration {
	if since > maxRenewInterval {
		return minRenewInterval
	}
	return min(2*wait, maxRenewInterval)
}

// renewed returns the new directory that replaces p, or nil.
func (l *Listener) renewed(p *servedDir) *servedDir {
	renewed, err := p.Renew()
	if err != nil {
		if !p.renewFailed {
			l.log.Error("the directory of requests was deleted, moved or replaced, and is not served anew", "directory", p.Dir.Path(), "error", err)
		}
		p.renewFailed = true
		return nil
	}
	l.log.Warn("the directory of requests was deleted or replaced: it is served anew", "directory", p.Dir.Path())
	next := newServedDir(renewed)
	if l.notify != nil {
		if err := l.notify.exchange(p, next); err != nil {
			l.log.Warn("no notification of files: polling", "error", err)
			l.eventsWork = false
		}
	}
	l.createHeartbeat(next)
	return next
}
