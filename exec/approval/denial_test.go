// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestDenyAlways checks that a denial holds for exactly the same question until it is revoked, also over a grant and
// in a new queue.
func TestDenyAlways(t *testing.T) {
	file := filepath.Join(t.TempDir(), "denials.json")
	ask := Question{ID: "01", Args: []string{"make", "a\xffb"}, Path: "/usr/bin/make", Rule: "r", Session: "s", Cwd: "/w"}
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{WaitAlways: true}
		if err := q.LoadDenials(file, "s"); err != nil {
			t.Fatal(err)
		}
		got := make(chan Answer, 1)
		// ends with its answer
		go func() { got <- q.Ask(t.Context(), ask, nil) }()
		synctest.Wait()
		if err := q.DenyAlways("01", "other", "", "ann"); !errors.Is(err, ErrChanged) {
			t.Errorf("another digest: %v", err)
		}
		if err := q.DenyAlways("01", ask.Digest(), "not here", "ann"); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a != (Answer{Outcome: Denied, Reason: "not here", By: "ann", Standing: true}) {
			t.Errorf("the answer is %+v", a)
		}
		// A denial wins over a grant of the same call.
		q.grants.list = []Grant{{ID: "0123456789abcdef", Question: ask, Made: time.Now(), Left: Unlimited, digest: ask.Digest()}}
		if _, ok, err := q.Granted(ask); ok || err != nil {
			t.Errorf("it is granted: %v", err)
		}
		if a := q.Ask(t.Context(), ask, nil); a.Outcome != Denied || a.Reason != "not here" || a.By != q.Denials()[0].By() {
			t.Errorf("asked again: %+v", a)
		}
	})
	q := &Queue{WaitAlways: true}
	if err := q.LoadDenials(file, "s"); err != nil {
		t.Fatal(err)
	}
	all := q.Denials()
	if len(all) != 1 || all[0].Reason != "not here" || all[0].User != "ann" || all[0].Question.Args[1] != "a\xffb" {
		t.Fatalf("loaded: %+v", all)
	}
	renamed := ask
	renamed.Container = "another name"
	for _, same := range []Question{ask, renamed} {
		if d, ok := q.DeniedAlways(same); !ok || d.ID != all[0].ID {
			t.Errorf("DeniedAlways(%+v) = %+v, %v", same, d, ok)
		}
	}
	other := ask
	other.Cwd = "/"
	if d, ok := q.DeniedAlways(other); ok {
		t.Errorf("another directory is denied: %+v", d)
	}
	if err := q.RevokeDenial(all[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := q.DeniedAlways(ask); ok || len(q.Denials()) > 0 {
		t.Error("what was revoked holds")
	}
	if err := q.RevokeDenial(all[0].ID); !errors.Is(err, ErrNoDenial) {
		t.Errorf("revoked again: %v", err)
	}
}

// TestDenialIsStoredFirst checks that a question still waits if its denial cannot be stored, and that a damaged file
// holds no denial.
func TestDenialIsStoredFirst(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{WaitAlways: true}
		if err := q.LoadDenials(filepath.Join(dir, "missing", "denials.json"), "s"); err != nil {
			t.Fatal(err)
		}
		ask := Question{ID: "01", Args: []string{"make"}, Session: "s"}
		// ends with its answer
		go q.Ask(t.Context(), ask, nil)
		synctest.Wait()
		if err := q.DenyAlways("01", ask.Digest(), "", "ann"); err == nil || len(q.Pending()) != 1 || len(q.Denials()) != 0 {
			t.Errorf("DenyAlways: %v", err)
		}
		if err := q.Deny("01", ask.Digest(), "", "ann"); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(dir, "denials.json")
	for _, text := range []string{"", "{}", `[{"call": {"id": "01"}}]`, `[{"unknown": 1}]`, "[{}]"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		q := &Queue{}
		if err := q.LoadDenials(file, "s"); err == nil || len(q.Denials()) != 0 {
			t.Errorf("%q: %v, %v", text, err, q.Denials())
		}
	}
}

// TestDenyAlwaysOfFiles checks that a denial of a question that showed files holds after they have changed.
func TestDenyAlwaysOfFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{WaitAlways: true}
		shown, later := withFile("one"), withFile("two")
		got := put(t.Context(), q, shown)
		synctest.Wait()
		if err := q.DenyAlways(shown.ID, shown.ShownDigest(), "", "ann"); err != nil {
			t.Fatal(err)
		}
		<-got
		if _, ok := q.DeniedAlways(later); !ok || q.Denials()[0].Question.Inputs != nil {
			t.Errorf("denied: %+v", q.Denials())
		}
	})
}
