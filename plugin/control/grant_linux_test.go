// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestGrants(t *testing.T) {
	s, c := serve(t)
	defer s.queue.AddApprover()()
	ctx := t.Context()
	if all, err := c.Answers(ctx, KindGrant); err != nil || all == nil || len(all) != 0 {
		t.Errorf("Grants of none = %v, %v, want an empty list", all, err)
	}
	for i, terms := range []approval.Terms{{For: 15 * time.Minute}, {Times: 3}, {Always: true}} {
		answer := put(t, s, "01", "git", "push\x1b[2J", strings.Repeat("x", i))
		all, err := c.Pending(ctx)
		if err != nil || len(all) != 1 {
			t.Fatalf("Pending = %v, %v", all, err)
		}
		for _, bad := range []approval.Terms{{For: -1}, {Times: -1}, {Times: 1, Always: true}} {
			if err := c.Approve(ctx, all[0], bad); !errors.Is(err, approval.ErrTerms) {
				t.Errorf("Approve on %+v: %v, want %v", bad, err, approval.ErrTerms)
			}
		}
		changed := all[0]
		changed.Digest = "0"
		if err := c.Approve(ctx, changed, terms); !errors.Is(err, approval.ErrChanged) {
			t.Errorf("Approve with another's digest: %v, want %v", err, approval.ErrChanged)
		}
		if err := c.Approve(ctx, all[0], terms); err != nil {
			t.Fatal(err)
		}
		if a := <-answer; a.Outcome != approval.Approved {
			t.Errorf("the answer is %+v", a)
		}
	}
	all, err := c.Answers(ctx, KindGrant)
	if err != nil || len(all) != 3 {
		t.Fatalf("Grants = %+v, %v", all, err)
	}
	if g := all[0]; strings.Join(g.Args, " ") != `git "push\x1b[2J" ` || g.Until.Sub(g.Made) != 15*time.Minute || g.Left != 0 || g.User == "" || g.Session != "s" {
		t.Errorf("shown is %+v", g)
	}
	if all[1].Left != 2 || !all[1].Until.IsZero() || all[2].Left != 0 || !all[2].Until.IsZero() {
		t.Errorf("shown is %+v", all[1:])
	}
	if err := c.Revoke(ctx, KindGrant, all[2].ID); err != nil {
		t.Error(err)
	}
	if err := c.Revoke(ctx, KindGrant, all[2].ID); !errors.Is(err, approval.ErrNoGrant) {
		t.Errorf("revoked again: %v, want %v", err, approval.ErrNoGrant)
	}
	if _, ok, _ := s.queue.Granted(approval.Question{Args: []string{"git", "push\x1b[2J", "xx"}, Cwd: "/w\x1b", Session: "s"}); ok {
		t.Error("what was revoked is granted")
	}
}

// TestStored lists and revokes the answers of a session without a watcher, and leaves those of another one alone.
func TestStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state.LockFile(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, c := serve(t)
	defer s.queue.AddApprover()()
	if err := errors.Join(s.queue.LoadGrants(state.GrantsFile(dir), "s"), s.queue.LoadDenials(state.DenialsFile(dir), "s")); err != nil {
		t.Fatal(err)
	}
	for i, settle := range []func(q Question) error{
		func(q Question) error { return c.Approve(t.Context(), q, approval.Terms{Always: true}) },
		func(q Question) error { return c.Deny(t.Context(), q, "no", true) },
	} {
		changed, answer := s.queue.Changed(), make(chan approval.Answer, 1)
		// ends with the answer, or with the test's context.
		go func() {
			answer <- s.queue.Ask(t.Context(), approval.Question{ID: "01", Args: []string{"git", strings.Repeat("x", i), strings.Repeat("y", 2000)}, Path: "/git", Rule: "r", Session: "s"}, nil)
		}()
		<-changed
		all, err := c.Pending(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("Pending = %v, %v", all, err)
		}
		if err := settle(all[0]); err != nil {
			t.Fatal(err)
		}
		<-answer
	}
	next := Dial(dir) // it has no watcher
	defer next.Close()
	lock := flock.New(state.LockFile(dir))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []AnswerKind{KindGrant, KindDenial} {
		all, err := next.Answers(t.Context(), e)
		if err != nil || len(all) != 1 || all[0].Cut == nil {
			t.Fatalf("Answers(%s) = %+v, %v", e, all, err)
		}
		if whole, err := next.Answer(t.Context(), e, all[0].ID); err != nil || whole.Cut != nil || len(whole.Args[2]) != 2000 {
			t.Errorf("Answer(%s) = %+v, %v", e, whole, err)
		}
		if err := next.Revoke(t.Context(), e, all[0].ID); err == nil {
			t.Errorf("a %s of a session that is being resumed is revoked", e)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []AnswerKind{KindGrant, KindDenial} {
		all, err := next.Answers(t.Context(), e)
		if err != nil || len(all) != 1 {
			t.Fatalf("Answers(%s) = %+v, %v", e, all, err)
		}
		if err := next.Revoke(t.Context(), e, all[0].ID); err != nil {
			t.Error(err)
		}
		if err := next.Revoke(t.Context(), e, all[0].ID); !errors.Is(err, e.NotFound()) {
			t.Errorf("revoked again: %v, want %v", err, e.NotFound())
		}
		if _, err := next.Answer(t.Context(), e, all[0].ID); !errors.Is(err, e.NotFound()) {
			t.Errorf("after it was revoked: %v, want %v", err, e.NotFound())
		}
		if all, err := next.Answers(t.Context(), e); err != nil || len(all) != 0 {
			t.Errorf("after it was revoked: %+v, %v", all, err)
		}
	}
}

func TestBadTerms(t *testing.T) {
	s, c := serve(t)
	defer s.queue.AddApprover()()
	answer := put(t, s, "01", "make")
	all, err := c.Pending(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("Pending = %v, %v", all, err)
	}
	for _, terms := range []string{`"for": "soon"`, `"for": "0s"`, `"for": "-1m"`, `"times": -1`, `"times": 1.5`, `"for": "1m", "always": true`, `"allways": true`} {
		body := `{"digest": "` + all[0].Digest + `", "waiting": ["01"], ` + terms + `}`
		if _, err := c.do(t.Context(), http.MethodPost, "/approve/01", []byte(body), http.StatusOK); err == nil {
			t.Errorf("%s was taken", terms)
		}
	}
	if err := c.Deny(t.Context(), all[0], "", false); err != nil {
		t.Error(err) // the question must still wait
	}
	<-answer
}
