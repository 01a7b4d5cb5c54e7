// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"sync"
	"testing"
	"time"
)

// TestOnChange checks that a new session, a saved one, and a wake-up are reported before the second is over that would
// report them anyway.
func TestOnChange(t *testing.T) {
	s, err := OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	wake, calls := make(chan struct{}, 1), make(chan time.Time, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	// Ends with ctx.
	wg.Go(func() { s.OnChange(ctx, wake, func() { calls <- time.Now() }) })
	<-calls
	saved := &Session{ID: NewID()}
	if err := s.Create(saved); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func() error
	}{
		{"a new session", func() error { return s.Create(&Session{ID: NewID()}) }},
		{"a saved session", func() error { return s.Save(saved) }},
		{"a wake-up", func() error { wake <- struct{}{}; return nil }},
	} {
		early := false
		for range 5 { // a busy machine may be late, but not each time
			for last := time.Now(); time.Since(last) < maxPause*9/10; <-calls { // until there is nothing to report
				last = time.Now()
			}
			changed := time.Now()
			if err := tt.change(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if early = (<-calls).Sub(changed) < maxPause/2; early {
				break
			}
		}
		if !early {
			t.Errorf("%s is not reported at once", tt.name)
		}
	}
}
