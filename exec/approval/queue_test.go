// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func open() *Queue { return &Queue{CanNotify: func() bool { return true }} }

func ask(id string, args ...string) Question {
	return Question{ID: id, Args: args, Cwd: "/w", Dir: "/home/u/w", Path: "/usr/bin/" + args[0], Rule: "--proxy", Session: "s"}
}

// put asks in the background. The channel receives the answer.
func put(ctx context.Context, q *Queue, a Question) <-chan Answer {
	ch := make(chan Answer, 1)
	// ends with the answer, which the test waits for.
	go func() { ch <- q.Ask(ctx, a, nil) }()
	return ch
}

func TestAnswers(t *testing.T) {
	leave := errors.New("left")
	for _, tt := range []struct {
		name   string
		settle func(q *Queue, digest string, cancel context.CancelCauseFunc) error
		want   Answer
	}{
		{"approved", func(q *Queue, d string, _ context.CancelCauseFunc) error {
			return q.Approve("1", d, []string{"1"}, "ann")
		}, Answer{Outcome: Approved, By: "ann"}},
		{"denied", func(q *Queue, d string, _ context.CancelCauseFunc) error { return q.Deny("1", d, "no", "ann") }, Answer{Outcome: Denied, Reason: "no", By: "ann"}},
		{"denied without a reason", func(q *Queue, d string, _ context.CancelCauseFunc) error { return q.Deny("1", d, "", "") }, Answer{Outcome: Denied, Reason: DefaultReason, By: ""}},
		{"caller gone", func(_ *Queue, _ string, c context.CancelCauseFunc) error { c(leave); return nil }, Answer{Outcome: Cancelled}},
		{"nobody answers", func(*Queue, string, context.CancelCauseFunc) error { return nil }, Answer{Outcome: TimedOut}},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := open()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			start := time.Now()
			got := put(ctx, q, ask("1", "git", "push"))
			synctest.Wait()
			all := q.Pending()
			if len(all) != 1 || len(all[0].Waiting) != 1 || !all[0].Deadline.Equal(start.Add(defaultTimeout)) {
				t.Fatalf("%s: pending %+v", tt.name, all)
			}
			if err := tt.settle(q, all[0].Digest(), cancel); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if a := <-got; a != tt.want {
				t.Errorf("%s: %+v, want %+v", tt.name, a, tt.want)
			}
			if tt.want.Outcome == TimedOut && time.Since(start) != defaultTimeout {
				t.Errorf("it timed out after %s", time.Since(start))
			}
			if len(q.Pending()) != 0 {
				t.Errorf("%s: it is still pending", tt.name)
			}
			if err := q.Approve("1", all[0].Digest(), []string{"1"}, ""); err != ErrUnknown {
				t.Errorf("%s: approved again: %v", tt.name, err)
			}
		})
	}
}

func TestRefusedUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{}
		if a := q.Ask(t.Context(), ask("1", "a"), nil); a.Outcome != Refused || !strings.Contains(a.Reason, "nobody is there") {
			t.Errorf("with nobody there: %+v", a)
		}
		leave := q.AddApprover()
		ctx, cancel := context.WithCancel(t.Context())
		var waits []<-chan Answer
		for i := range maxQuestions {
			waits = append(waits, put(ctx, q, ask(strconv.Itoa(i), "a", strconv.Itoa(i))))
		}
		synctest.Wait()
		if a := q.Ask(ctx, ask("x", "a", "x"), nil); a.Outcome != Refused || !strings.Contains(a.Reason, "already") {
			t.Errorf("one question too many: %+v", a)
		}
		leave()
		leave() // the second call has no effect
		if a := q.Ask(ctx, ask("0", "a", "0"), nil); a.Outcome != Refused {
			t.Errorf("after the approver left: %+v", a)
		}
		cancel()
		for _, w := range waits {
			<-w
		}
	})
}

// TestNotificationFails checks a question that depends on a notification program: it waits until the program
// has failed.
func TestNotificationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := false
		q := &Queue{Notifies: true, Durable: true, CanNotify: func() bool { return here }}
		a, b := put(t.Context(), q, ask("1", "a")), put(t.Context(), q, ask("2", "b"))
		synctest.Wait()
		q.NotificationFailed([]string{"1", "gone"})
		if got := <-a; got.Outcome != Refused || !strings.Contains(got.Reason, "nobody is there") {
			t.Errorf("nobody was told, and the caller is told %+v", got)
		}
		here = true
		q.NotificationFailed([]string{"2"})
		here = false
		leave := q.AddApprover()
		q.NotificationFailed([]string{"2"})
		leave()
		if all := q.Pending(); len(all) != 1 || all[0].ID != "2" {
			t.Errorf("somebody has come, and %+v waits", all)
		}
		q.NotificationFailed([]string{"2"})
		<-b
		cut(t, q, "3")
		q.NotificationFailed([]string{"3"})
		if len(q.Pending())+len(q.answered) != 0 {
			t.Error("a caller that has left is told that nobody is there")
		}
	})
}

// TestAlways checks that with wait: always a question waits although nobody can be notified.
func TestAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{WaitAlways: true, Timeout: time.Second}
		got := put(t.Context(), q, ask("1", "a"))
		synctest.Wait()
		q.NotificationFailed([]string{"1"})
		if a := <-got; a.Outcome != TimedOut {
			t.Errorf("%+v, want that time was up", a)
		}
	})
}

// TestDigest checks that a question with other arguments, another directory or other fields has
// another digest.
//
// Attack 149.
func TestDigest(t *testing.T) {
	base := ask("1", "git", "push")
	if other := ask("2", "git", "push"); other.Digest() != base.Digest() {
		t.Error("the same question of another request has another digest")
	}
	for name, change := range map[string]func(*Question){
		"args":    func(q *Question) { q.Args = []string{"git", "push", ""} },
		"split":   func(q *Question) { q.Args = []string{"git", "pu", "sh"} },
		"bytes":   func(q *Question) { q.Args = []string{"git", "push\n"} },
		"cwd":     func(q *Question) { q.Cwd = "/x" },
		"dir":     func(q *Question) { q.Dir = "/x" },
		"path":    func(q *Question) { q.Path = "/x" },
		"rule":    func(q *Question) { q.Rule = "x" },
		"session": func(q *Question) { q.Session = "x" },
		"shifted": func(q *Question) { q.Cwd, q.Dir = q.Cwd+"/home", "/u/w" },
	} {
		q := base
		if change(&q); q.Digest() == base.Digest() {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		q := open()
		got := put(t.Context(), q, base)
		synctest.Wait()
		if err := q.Approve("1", "0", []string{"1"}, ""); err != ErrChanged {
			t.Errorf("another digest: %v", err)
		}
		if err := q.Approve("1", base.Digest(), []string{"2"}, ""); err != ErrChanged {
			t.Errorf("nobody shown: %v", err)
		}
		if err := q.Deny("1", base.Digest(), "", ""); err != nil {
			t.Error(err)
		}
		<-got
	})
}

// Attack 140.
func TestIdenticalQuestionsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		var got [3]<-chan Answer
		for i := range got {
			got[i] = put(t.Context(), q, ask(strconv.Itoa(i), "make"))
			synctest.Wait()
		}
		all := q.Pending()
		if len(all) != 1 || len(all[0].Waiting) != 3 || all[0].ID != "0" {
			t.Fatalf("pending %+v", all)
		}
		if err := q.Approve("1", all[0].Digest(), []string{"0", "1", "gone"}, ""); err != nil { // by the ID of the second request
			t.Fatal(err)
		}
		for i := range 2 {
			if a := <-got[i]; a.Outcome != Approved {
				t.Errorf("caller %d: %+v", i, a)
			}
		}
		if all = q.Pending(); len(all) != 1 || len(all[0].Waiting) != 1 {
			t.Fatalf("the one that was not shown: %+v", all)
		}
		if err := q.Deny("2", all[0].Digest(), "", ""); err != nil {
			t.Fatal(err)
		}
		<-got[2]
	})
}

// Attack 140.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		rest := minBackoff
		for range 8 {
			got := put(t.Context(), q, ask("1", "rm"))
			synctest.Wait()
			q1 := ask("1", "rm")
			if err := q.Deny("1", q1.Digest(), "", ""); err != nil {
				t.Fatal(err)
			}
			<-got
			time.Sleep(rest - time.Nanosecond) // on synctest's clock
			if a := q.Ask(t.Context(), ask("2", "rm"), nil); a.Outcome != Refused {
				t.Fatalf("%s after a denial: %+v", rest, a)
			}
			time.Sleep(time.Nanosecond)
			rest = min(2*rest, maxBackoff)
		}
		time.Sleep(2 * maxBackoff)
		q.recordDenial("other", time.Now())
		if len(q.recentDenials) != 1 {
			t.Errorf("%d denials are remembered, want the last", len(q.recentDenials))
		}
	})
}

func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		ctx, cancel := context.WithCancel(t.Context())
		ch := q.Changed()
		got := put(ctx, q, ask("1", "a"))
		<-ch
		ch = q.Changed()
		cancel()
		<-ch
		<-got
	})
}

// TestRaces settles each of many questions from four goroutines at once. Exactly one wins, and the
// caller receives the winner's answer.
//
// Attacks 112, 199.
func TestRaces(t *testing.T) {
	for i := range 2000 {
		q := &Queue{Timeout: time.Duration(rand.Int64N(int64(100 * time.Microsecond))), CanNotify: func() bool { return true }}
		a := ask("1", "a")
		digest := a.Digest()
		ctx, cancel := context.WithCancel(t.Context())
		var approved, denied atomic.Int32
		var wg sync.WaitGroup
		entered := q.Changed()
		got := put(ctx, q, a)
		<-entered
		// end at once: each tries one thing.
		wg.Go(func() {
			if q.Approve("1", digest, []string{"1"}, "") == nil {
				approved.Add(1)
			}
		})
		wg.Go(func() {
			if q.Deny("1", digest, "", "") == nil {
				denied.Add(1)
			}
		})
		wg.Go(cancel)
		wg.Wait()
		switch o := (<-got).Outcome; {
		case approved.Load()+denied.Load() > 1:
			t.Fatalf("round %d: approved and denied", i)
		case approved.Load() == 1 && o != Approved, denied.Load() == 1 && o != Denied:
			t.Fatalf("round %d: somebody decided, and the caller was told %d", i, o)
		case approved.Load()+denied.Load() == 0 && o != Cancelled && o != TimedOut:
			t.Fatalf("round %d: nobody decided, and the caller was told %d", i, o)
		}
	}
}
