// SPDX-License-Identifier: Apache-2.0

package audit

import "time"

// missed is a COMPLETE record that could not be written, because the disk was full for example. Its
// command has run, so the record is written as soon as it can be, and before the next one. Other
// records are not kept: without its record a command does not run.
type missed struct {
	who  Who
	body string
}

// maxMissed is how many missed records are kept.
const maxMissed = 1000

// retrying is the time between attempts to write the missed records.
const retrying = time.Second

// keepMissed keeps a record that could not be written. The caller holds mu.
func (b *book) keepMissed(m missed) {
	if len(b.missed) == maxMissed {
		return
	}
	b.missed = append(b.missed, m)
	if b.retry == nil {
		b.retry = time.AfterFunc(retrying, b.tryMissed) // ends when none is left, or with Close
	}
}

// tryMissed writes the missed records that can be written now, and tries again later if some are left.
func (b *book) tryMissed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.writeMissed()
	if len(b.missed) > 0 {
		b.retry.Reset(retrying)
	} else {
		b.retry = nil
	}
}

// writeMissed writes the missed records that can be written now, the oldest first. The caller holds mu.
func (b *book) writeMissed() {
	for len(b.missed) > 0 {
		m := b.missed[0]
		line, err := b.appendLocked(m.who, m.body)
		if err != nil {
			return
		}
		b.missed = b.missed[1:]
		_ = b.secure(m.who, line, false) // its caller was told that it failed
	}
}
