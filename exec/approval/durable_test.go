// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// These tests use synctest's clock: time.Sleep advances the clock without a delay.

func durable() *Queue { return &Queue{Durable: true, CanNotify: func() bool { return true }} }

// cut asks a question, cancels the caller, and returns the question.
func cut(t *testing.T, q *Queue, id string) Question {
	t.Helper()
	a := ask(id, "make")
	ctx, cancel := context.WithCancel(t.Context())
	got := put(ctx, q, a)
	synctest.Wait()
	cancel()
	if a := <-got; a.Outcome != Cancelled {
		t.Fatalf("the caller that left is told %+v", a)
	}
	return a
}

func TestOutlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable()
		start := time.Now()
		a := cut(t, q, "1")
		all := q.Pending()
		if len(all) != 1 || all[0].Disconnected != 1 || len(all[0].Waiting) != 1 || !all[0].Deadline.Equal(start.Add(disconnectGrace)) {
			t.Fatalf("pending %+v", all)
		}
		changed := q.Changed()
		time.Sleep(disconnectGrace - 1)
		if len(q.Pending()) != 1 {
			t.Error("it is gone too early")
		}
		<-changed
		if len(q.Pending()) != 0 {
			t.Error("it stays")
		}
		if err := q.Approve("1", a.Digest(), []string{"1"}, ""); err != ErrUnknown {
			t.Errorf("approved when it was over: %v", err)
		}
	})
}

// TestWithdrawn checks that ^C removes a request permanently.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable()
		ctx, cancel := context.WithCancelCause(t.Context())
		got := put(ctx, q, ask("1", "make"))
		synctest.Wait()
		cancel(ErrWithdrawn)
		if a := <-got; a.Outcome != Cancelled || len(q.Pending()) != 0 {
			t.Errorf("the caller is told %+v, and %+v waits", a, q.Pending())
		}
	})
}

// TestAnswerIsKept checks an answer that is given after the caller has left. The next caller with the
// same question receives it, once.
//
// Attack 147.
func TestAnswerIsKept(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(q *Queue, a Question) error
		want   Answer
	}{
		{"approved", func(q *Queue, a Question) error { return q.Approve("1", a.Digest(), []string{"1"}, "ann") }, Answer{Outcome: Approved, By: "ann"}},
		{"denied", func(q *Queue, a Question) error { return q.Deny("1", a.Digest(), "no", "ann") }, Answer{Outcome: Denied, Reason: "no", By: "ann"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := durable()
			a := cut(t, q, "1")
			if err := tt.answer(q, a); err != nil {
				t.Fatal(err)
			}
			if len(q.Pending()) != 0 {
				t.Errorf("%s: it is still pending", tt.name)
			}
			time.Sleep(disconnectGrace - 1)
			if got := q.Ask(t.Context(), ask("2", "make"), nil); got != tt.want {
				t.Errorf("%s: who comes back is told %+v, want %+v", tt.name, got, tt.want)
			}
			if _, again := q.takeStoredAnswer(a.Digest(), time.Now()); again {
				t.Errorf("%s: fetched twice", tt.name)
			}
		})
		if tt.want.Outcome == Denied {
			break
		}
		synctest.Test(t, func(t *testing.T) {
			q := durable()
			a := cut(t, q, "1")
			if err := tt.answer(q, a); err != nil {
				t.Fatal(err)
			}
			time.Sleep(disconnectGrace)
			synctest.Wait()
			if _, late := q.takeStoredAnswer(a.Digest(), time.Now()); late || len(q.answered) != 0 {
				t.Errorf("%s: fetched when it was over", tt.name)
			}
		})
	}
}

// TestCallerReturns checks a caller that returns: it takes over the waiter, and an answer to either ID
// reaches it.
func TestCallerReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable()
		a := cut(t, q, "1")
		asked := q.Pending()[0].Asked
		time.Sleep(disconnectGrace / 2)
		got := put(t.Context(), q, ask("2", "make"))
		synctest.Wait()
		all := q.Pending()
		if len(all) != 1 || all[0].Disconnected != 0 || len(all[0].Waiting) != 1 || all[0].Waiting[0] != "2" || !all[0].Asked.Equal(asked) || all[0].ID != "1" {
			t.Fatalf("pending %+v", all)
		}
		time.Sleep(disconnectGrace)
		if len(q.Pending()) != 1 {
			t.Fatal("it was taken out although its caller is back")
		}
		// The person still sees the previous request.
		if err := q.Approve("1", a.Digest(), []string{"1"}, "ann"); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a.Outcome != Approved {
			t.Errorf("who came back is told %+v", a)
		}
	})
}

func TestRevokedWhileGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable()
		a := cut(t, q, "1")
		if err := q.Grant("1", a.Digest(), []string{"1"}, "ann", Terms{For: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if err := q.Revoke(q.Grants()[0].ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := q.takeStoredAnswer(a.Digest(), time.Now()); ok {
			t.Error("it was revoked, and approves all the same")
		}
	})
}

func TestDenialRevokedWhileGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable()
		a := cut(t, q, "1")
		if err := q.DenyAlways("1", a.Digest(), "no", "ann"); err != nil {
			t.Fatal(err)
		}
		if err := q.RevokeDenial(q.Denials()[0].ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := q.takeStoredAnswer(a.Digest(), time.Now()); ok {
			t.Error("it was revoked, and denies all the same")
		}
	})
}

// TestDurableRaces checks callers that leave and return while a person answers. An approval runs at
// most one call, and nothing else runs.
//
// Attacks 147, 199.
func TestDurableRaces(t *testing.T) {
	for i := range 500 {
		q := durable()
		a := ask("0", "a")
		first, leave := context.WithCancel(t.Context())
		entered := q.Changed()
		got := put(first, q, a)
		<-entered
		second, over := context.WithCancel(t.Context())
		var ran atomic.Int32
		var approved atomic.Bool
		var wg sync.WaitGroup
		count := func(a Answer) {
			if a.Outcome == Approved {
				ran.Add(1)
			}
		}
		back := put(second, q, ask("1", "a"))
		// end at once: each does one thing.
		wg.Go(leave)
		wg.Go(func() { approved.Store(q.Approve("0", a.Digest(), []string{"0"}, "") == nil) })
		wg.Go(func() {
			if i%2 == 0 {
				q.Deny("0", a.Digest(), "", "") // fails if the question is settled
			}
		})
		wg.Wait()
		count(<-got)
		over()
		count(<-back)
		if n := ran.Load(); n > 1 || n == 1 && !approved.Load() {
			t.Fatalf("round %d: %d ran, approved is %t", i, n, approved.Load())
		}
	}
}

// TestExpiryOfBefore lets the time of a waiter end at the moment when its caller returns and leaves again. The timer
// that has fired is the one of before, and the waiter stays for its new time.
func TestExpiryOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable()
		cut(t, q, "1")
		q.mu.Lock()
		time.Sleep(disconnectGrace) // the timer fires, and waits for mu
		w := q.questions[0].takeOver("2", time.Now().Add(time.Hour))
		q.keepDisconnected(w)
		q.mu.Unlock()
		synctest.Wait()
		if len(q.Pending()) != 1 {
			t.Error("it was removed by the timer of before")
		}
		time.Sleep(disconnectGrace)
		synctest.Wait()
		if all := q.Pending(); len(all) != 0 {
			t.Errorf("it stays: %+v", all)
		}
	})
}

// TestSlowNote gives answers to callers that have left, while the disk of the audit log is slow. Other questions go on.
// The answers have no effect before they are written down, once each and in their order.
func TestSlowNote(t *testing.T) {
	q := durable()
	noting, disk := make(chan string), make(chan struct{})
	leave := func(a Question) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := q.Ask(ctx, a, func(a Answer) { noting <- a.By; <-disk }); got.Outcome != Cancelled {
			t.Fatalf("the caller that left is told %+v", got)
		}
	}
	first, second := ask("1", "make"), ask("2", "git")
	leave(first)
	leave(second)
	decided := make(chan error, 2)
	// end when their answers are written down.
	go func() { decided <- q.Approve("1", first.Digest(), []string{"1"}, "ann") }()
	want(t, "the first that is written down", <-noting, "ann")
	go func() { decided <- q.Deny("2", second.Digest(), "no", "bob") }()

	other := put(t.Context(), q, ask("3", "ls"))
	waits := func(id string) bool {
		return slices.ContainsFunc(q.Pending(), func(a Question) bool { return a.ID == id })
	}
	for !waits("3") || waits("2") {
		runtime.Gosched()
	}
	again := put(t.Context(), q, ask("4", "make"))
	for stored := true; stored; runtime.Gosched() {
		q.mu.Lock()
		stored = slices.ContainsFunc(q.answered, func(w *waiter) bool { return w.request == "1" })
		q.mu.Unlock()
	}
	select {
	case a := <-again:
		t.Errorf("an answer that is not written down yet is given: %+v", a)
	case by := <-noting:
		t.Errorf("the answer of %s is written down at the same time", by)
	default:
	}
	disk <- struct{}{}
	want(t, "the second that is written down", <-noting, "bob")
	disk <- struct{}{}
	want(t, "the answer to the same question", (<-again).By, "ann")
	for range 2 {
		if err := <-decided; err != nil {
			t.Error(err)
		}
	}
	third := ask("3", "ls")
	if err := q.Approve("3", third.Digest(), []string{"3"}, "cyd"); err != nil || (<-other).By != "cyd" {
		t.Errorf("the other question: %v", err)
	}
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}
