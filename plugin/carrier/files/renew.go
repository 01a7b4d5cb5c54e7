// SPDX-License-Identifier: Apache-2.0

package files

import "time"

// A directory of requests can be deleted while it is served, by git clean -fdx for example. Requests
// in a new directory of the same name would then wait for ever.

// renewing is how often a directory that is gone is to be made again. Where that happens again and
// again it takes longer each time, up to seldom: making one costs the host more than deleting it.
const renewing, maxRenewInterval = time.Second, time.Minute

// renew replaces the places whose directories were deleted or replaced.
func (l *Listener) renew(now time.Time) {
	for i, p := range l.places {
		if p.Renew == nil || l.over() || now.Sub(p.renewTried) < p.wait || p.Dir.Named() {
			continue
		}
		wait := nextWait(p.wait, now.Sub(p.renewTried))
		p.renewTried = now
		if next := l.renewed(p); next != nil {
			next.renewTried, next.wait = now, wait
			l.places[i] = next
			p.retire()
		}
	}
}

// nextWait returns how long a place is not renewed, after one that had to wait for wait and was
// tried last such a time ago.
func nextWait(wait, since time.Duration) time.Duration {
	if since > maxRenewInterval {
		return renewing
	}
	return min(2*wait, maxRenewInterval)
}

// renewed returns the place that stands for p from here on, or nil.
func (l *Listener) renewed(p *requestDir) *requestDir {
	again, err := p.Renew()
	if err != nil {
		if !p.renewFailed {
			l.log.Error("the directory of requests was deleted, moved or replaced, and is not served anew", "directory", p.Dir.Path(), "error", err)
		}
		p.renewFailed = true
		return nil
	}
	l.log.Warn("the directory of requests was deleted or replaced: it is served anew", "directory", p.Dir.Path())
	next := newRequestDir(again)
	if l.notify != nil {
		if err := l.notify.exchange(p, next); err != nil {
			l.log.Warn("no notification of files: polling", "error", err)
			l.eventsWork = false
		}
	}
	l.share(next)
	return next
}

// retire closes the directory when the calls in flight have ended.
func (p *requestDir) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	if len(p.flying) == 0 {
		_ = p.Dir.Close() // nothing is left in it to lose
	}
}
