// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestEarlierString(t *testing.T) {
	for want, e := range map[string]Earlier{
		"":                                      {},
		"asked once: 1 approved":                {Asked: 1, Approved: 1},
		"asked once: 1 unanswered":              {Asked: 1},
		"asked 3 times: 2 approved, 1 denied":   {Asked: 3, Approved: 2, Denied: 1},
		"asked 4 times: 1 denied, 3 unanswered": {Asked: 4, Denied: 1},
	} {
		if got := e.String(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

// TestEarlier checks that a question shows how often it was asked before, and how it was answered. Requests that wait
// for this answer do not count.
func TestEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		earlier := func() Earlier {
			synctest.Wait()
			return q.Pending()[0].Earlier
		}
		a := ask("1", "make")
		first, second := put(t.Context(), q, a), put(t.Context(), q, ask("2", "make"))
		if got := earlier(); got != (Earlier{}) {
			t.Errorf("the first: %+v", got)
		}
		if err := q.Approve("1", a.Digest(), []string{"1", "2"}, "ann"); err != nil {
			t.Fatal(err)
		}
		<-first
		<-second
		third := put(t.Context(), q, ask("3", "make"))
		if got, want := earlier(), (Earlier{Asked: 2, Approved: 2}); got != want {
			t.Errorf("after an approval: %+v, want %+v", got, want)
		}
		if err := q.Deny("3", a.Digest(), "", "ann"); err != nil {
			t.Fatal(err)
		}
		<-third
		time.Sleep(time.Hour) // on synctest's clock: the denial is forgotten
		ctx, leave := context.WithCancelCause(t.Context())
		fourth := put(ctx, q, ask("4", "make"))
		synctest.Wait()
		leave(ErrWithdrawn)
		<-fourth
		fifth := put(t.Context(), q, ask("5", "make"))
		if got, want := earlier(), (Earlier{Asked: 4, Approved: 2, Denied: 1}); got != want {
			t.Errorf("in the end: %+v, want %+v", got, want)
		}
		if err := q.Approve("5", a.Digest(), []string{"5"}, "ann"); err != nil {
			t.Fatal(err)
		}
		<-fifth
	})
}

// TestEarlierLimit checks that many different questions use limited memory, and that answered ones are kept.
func TestEarlierLimit(t *testing.T) {
	c := counts{}
	c.asked("kept")
	c.answered("kept", Approved)
	for i := range 3 * maxEarlier {
		c.asked(fmt.Sprint(i))
	}
	if got := c.before("kept", 0); len(c) != maxEarlier || got != (Earlier{Asked: 1, Approved: 1}) {
		t.Errorf("%d are counted; the answered one: %+v", len(c), got)
	}
}
