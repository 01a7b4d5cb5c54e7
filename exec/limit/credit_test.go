// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestCreditIsCapped(t *testing.T) {
	c := NewCredit(1000)
	if err := c.Give(1); err != errCredit {
		t.Errorf("Give beyond the window = %v, want %v", err, errCredit)
	}
	if err := c.Give(-1); err != errCredit {
		t.Errorf("Give less than nothing = %v, want %v", err, errCredit)
	}
	n, ok := c.Take(100)
	if n != 100 || !ok {
		t.Errorf("Take = %d, %v, want 100", n, ok)
	}
	if err := c.Give(100); err != nil {
		t.Error(err)
	}
	c.Close()
	if _, ok := c.Take(1); ok {
		t.Error("Take from closed credit")
	}
}

// TestCreditExpires checks how long an expiring credit waits for its receiver: a killed call waited for ever for a
// caller that read nothing.
func TestCreditExpires(t *testing.T) {
	const none = time.Duration(0)
	for _, tt := range []struct {
		name         string
		first, every time.Duration // of the receiver's Gives, each of 1 byte; none: it gives nothing
		expire       time.Duration // after the start of Take; none: before
		bytes        int           // that are taken until Take fails
		took         time.Duration
	}{
		{"before", none, none, none, 10, stallTime},
		{"while it waits", none, none, time.Hour, 10, time.Hour + stallTime},
		{"a receiver that goes on late", 2500 * time.Millisecond, time.Second, time.Second, 10 + 59, time.Second + expiryTime},
		{"a slow receiver", time.Second / 2, time.Second, none, 10 + 60, expiryTime},
		{"too slow a receiver", time.Second, stallTime + 1, none, 11, time.Second + stallTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, start, done := NewCredit(10), time.Now(), make(chan struct{})
				if tt.expire == none {
					c.Expire()
				} else {
					time.AfterFunc(tt.expire, c.Expire)
				}
				if tt.every != none {
					// ends with done.
					go func() {
						time.Sleep(tt.first)
						for tick := time.NewTicker(tt.every); ; {
							c.Give(1)
							select {
							case <-tick.C:
							case <-done:
								return
							}
						}
					}()
				}
				bytes := 0
				for n, ok := c.Take(4); ok; n, ok = c.Take(4) {
					bytes += n
				}
				close(done)
				if took := time.Since(start); bytes != tt.bytes || took != tt.took {
					t.Errorf("%d bytes in %s, want %d in %s", bytes, took, tt.bytes, tt.took)
				}
				c.Expire() // must leave no timer
			})
		})
	}
}
