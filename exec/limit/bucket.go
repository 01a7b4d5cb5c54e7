// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"cmp"
	"sync"
	"time"
)

// defaultRate is how many events a second a Bucket lets through unless that is set.
const defaultRate = 20

// seconds is of how many seconds the events may come at once.
const seconds = 10

// Bucket lets events through at a rate, and a number of them at once before. Its zero value
// has defaultRate.
type Bucket struct {
	mu   sync.Mutex // guards the fields below
	rate int64      // a second; 0 is defaultRate
	used float64    // of what may come at once
	last time.Time
}

// Adjust sets the rate from now on; 0 is defaultRate.
func (b *Bucket) Adjust(rate int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = rate
}

// Rate is how many events a second are let through.
func (b *Bucket) Rate() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.rate, defaultRate)
}

// Take reports whether one more event is let through.
func (b *Bucket) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	rate := float64(cmp.Or(b.rate, defaultRate))
	now := time.Now()
	if !b.last.IsZero() {
		b.used = max(0, b.used-now.Sub(b.last).Seconds()*rate)
	}
	b.last = now
	if b.used+1 > rate*seconds {
		return false
	}
	b.used++
	return true
}
