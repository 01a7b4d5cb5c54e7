// SPDX-License-Identifier: Apache-2.0

package audit

import "time"

// missed is a COMPLETE record that could not be written, for example because the disk was full. Its
// START is in the log, so the record is written as soon as possible, and before the next record. Other
// missed records are dropped, because their commands do not run.
type missed struct {
	session SessionInfo
	body    string
}

// maxMissed is the maximum number of missed records in memory.
const maxMissed = 1000

// retryInterval is the time between attempts to write missed records.
const retryInterval = time.Second

// addMissed stores a record that could not be written. The caller holds mu.
func (b *sessionLog) addMissed(m missed) {
	if len(b.missed) == maxMissed {
		return
	}
	b.missed = append(b.missed, m)
	if b.retry == nil {
		b.retry = time.AfterFunc(retryInterval, b.tryMissed) // ends when no record is left, or with Close
	}
}

// tryMissed writes missed records. If records remain, it schedules the next attempt.
func (b *sessionLog) tryMissed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.writeMissed()
	if len(b.missed) > 0 {
		b.retry.Reset(retryInterval)
	} else {
		b.retry = nil
	}
}

// writeMissed writes missed records, oldest first, until a write fails. The caller holds mu.
func (b *sessionLog) writeMissed() {
	for len(b.missed) > 0 {
		m := b.missed[0]
		line, err := b.appendLocked(m.session, m.body)
		if err != nil {
			return
		}
		b.missed = b.missed[1:]
		_ = b.copyAndSync(m.session, line, false) // the caller of Write already got an error
	}
}
