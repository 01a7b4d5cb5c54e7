// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"errors"
	"sync"
	"time"
)

// After Expire, Take waits stallTime for new credit, and fails after expiryTime altogether. The first is for a receiver
// that takes nothing, the second for a receiver that takes a little from time to time. Both are longer than the pauses
// of a receiver that reads on.
const (
	stallTime  = 2 * time.Second
	expiryTime = time.Minute
)

var errCredit = errors.New("more bytes than the credit")

// Credit is the number of bytes that a receiver still accepts. The sender takes credit before it sends, and the
// receiver gives credit for the bytes that it has taken.
type Credit struct {
	window int64

	mu       sync.Mutex // guards the fields below
	more     sync.Cond  // of mu: a field has changed
	n        int64
	given    time.Time   // of the last Give
	expiring time.Time   // of the first Expire
	last     *time.Timer // closes at the end of expiryTime; nil before Expire
	closed   bool
}

// NewCredit returns a Credit of window bytes, which is also its maximum.
func NewCredit(window int64) *Credit {
	c := &Credit{window: window, n: window}
	c.more.L = &c.mu
	return c
}

// Take waits for credit and takes up to most of it. It fails once the credit is closed.
func (c *Credit) Take(most int) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for began := time.Now(); c.n == 0 && !c.closed; {
		c.waitLocked(began)
	}
	if c.closed {
		return 0, false
	}
	n := min(c.n, int64(most))
	c.n -= n
	return int(n), true
}

// waitLocked waits for a change. It closes the credit if it is expiring, and the receiver has given none for stallTime.
// Then later output is dropped, too: the receiver gets no output with a gap.
func (c *Credit) waitLocked(began time.Time) {
	if c.expiring.IsZero() {
		c.more.Wait()
		return
	}
	for _, t := range []time.Time{c.given, c.expiring} {
		if t.After(began) {
			began = t
		}
	}
	left := time.Until(began.Add(stallTime))
	if left <= 0 {
		c.closeLocked()
		return
	}
	late := time.AfterFunc(left, func() {
		c.mu.Lock() // Wait has begun
		defer c.mu.Unlock()
		c.more.Broadcast()
	})
	defer late.Stop()
	c.more.Wait()
}

// Give adds n bytes. It fails if the receiver gives credit for more than it was sent.
func (c *Credit) Give(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > c.window-c.n {
		return errCredit
	}
	c.n += n
	c.given = time.Now()
	c.more.Broadcast()
	return nil
}

// Expire makes Take fail soon if the receiver accepts nothing, and after a while in any case. What sends is being
// ended, and must not wait for its receiver.
func (c *Credit) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.last != nil {
		return
	}
	c.expiring, c.last = time.Now(), time.AfterFunc(expiryTime, c.Close)
	c.more.Broadcast()
}

// Close makes every Take fail.
func (c *Credit) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
}

func (c *Credit) closeLocked() {
	c.closed = true
	if c.last != nil {
		c.last.Stop()
	}
	c.more.Broadcast()
}
