// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTake(t *testing.T) {
	var s Session
	if err := s.Acquire(Argv, 64<<20); err != nil {
		t.Fatalf("all of the default: %v", err)
	}
	err := s.Acquire(Argv, 1)
	if want := "limit of 64 MiB for arguments of calls in flight (limits.argv)"; err == nil || err.Error() != want {
		t.Errorf("one more: %v, want %s", err, want)
	}
	s.Release(Argv, 1)
	if err := s.Acquire(Argv, 1); err != nil {
		t.Errorf("after one was given back: %v", err)
	}
	s.Adjust(Limits{Argv: 65 << 20})
	if err := s.Acquire(Argv, 1<<20); err != nil {
		t.Errorf("after the limit was raised: %v", err)
	}
	if got := s.Held(Argv); got != 65<<20 {
		t.Errorf("held = %d, want 65 MiB", got)
	}
	var e *Error
	if err := s.Acquire(Argv, 1<<62); !errors.As(err, &e) || e.Hint() != "limits.argv in config.yaml on the host raises it" {
		t.Errorf("an amount that overflows: %v", err)
	}
}

// TestContainer checks that a container with a low process limit gets few calls, whatever the
// configuration. With a high limit, the configuration applies.
func TestContainer(t *testing.T) {
	for _, tt := range []struct {
		pids, calls, processes int64
	}{
		{0, 1024, 4096}, {-1, 1024, 4096}, {20, 20, 384}, {1, 1, 80}, {5000, 1024, 4096}, {1000, 1000, 4096},
	} {
		var s Session
		s.SetPidsLimit(tt.pids)
		calls, processes := s.Limit(Calls), s.Limit(Processes)
		if calls.Max != tt.calls || processes.Max != tt.processes {
			t.Errorf("pids %d: %d calls and %d processes, want %d and %d", tt.pids, calls.Max, processes.Max, tt.calls, tt.processes)
		}
	}
	var s Session
	s.SetPidsLimit(20)
	if got, want := s.Limit(Calls).Error(), "limit of 20 for calls in flight (the container has --pids-limit 20)"; got != want {
		t.Errorf("error = %s, want %s", got, want)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Session
		s.Adjust(Limits{Calls: 1})
		if err := s.Wait(t.Context(), Calls, 1, time.Second); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := s.Wait(t.Context(), Calls, 1, time.Second); err == nil || time.Since(begin) != time.Second {
			t.Errorf("a full session: %v after %s, want an error after 1s", err, time.Since(begin))
		}
		// ends at once after its pause.
		go func() {
			time.Sleep(time.Second)
			s.Release(Calls, 1)
		}()
		begin = time.Now()
		if err := s.Wait(t.Context(), Calls, 1, time.Minute); err != nil || time.Since(begin) != time.Second {
			t.Errorf("one is given back: %v after %s, want success after 1s", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if err := s.Wait(ctx, Calls, 1, time.Minute); err != gone {
			t.Errorf("the caller has left: %v, want %v", err, gone)
		}
	})
}

func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b TokenBucket
		count := func(tries int) (n int) {
			for range tries {
				if b.Take() {
					n++
				}
			}
			return n
		}
		if n := count(10000); n != 200 {
			t.Errorf("%d at once, want 200", n)
		}
		time.Sleep(time.Second)
		if n := count(10000); n != 20 {
			t.Errorf("%d a second later, want 20", n)
		}
		time.Sleep(time.Hour)
		if n := count(10000); n != 200 {
			t.Errorf("%d an hour later, want 200", n)
		}
		b.Adjust(1)
		time.Sleep(time.Hour)
		if n := count(10000); n != 10 {
			t.Errorf("%d with a rate of 1, want 10", n)
		}
	})
}
