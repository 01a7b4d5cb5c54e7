// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"cmp"
	"sync"
	"time"
)

// defaultRate is the default rate of a TokenBucket, in events per second.
const defaultRate = 20

// burstSeconds is the size of a burst, as the time in which that many events happen at the rate.
const burstSeconds = 10

// TokenBucket is a token bucket: it limits the rate of events and permits bursts. The zero value permits 20 events per
// second.
type TokenBucket struct {
	mu   sync.Mutex // guards the fields below
	rate int64      // events per second; 0: defaultRate
	used float64    // used part of the burst
	last time.Time
}

// Adjust sets the rate for future events. 0 means defaultRate.
func (b *TokenBucket) Adjust(rate int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = rate
}

// Rate returns the rate in events per second.
func (b *TokenBucket) Rate() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.rate, defaultRate)
}

// Take reports whether one more event is permitted.
func (b *TokenBucket) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	rate := float64(cmp.Or(b.rate, defaultRate))
	now := time.Now()
	if !b.last.IsZero() {
		b.used = max(0, b.used-now.Sub(b.last).Seconds()*rate)
	}
	b.last = now
	if b.used+1 > rate*burstSeconds {
		return false
	}
	b.used++
	return true
}
