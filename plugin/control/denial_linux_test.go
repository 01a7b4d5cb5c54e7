// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
)

// TestDenials checks that a denial for this session is listed in printable form, and can be revoked once.
func TestDenials(t *testing.T) {
	s, c := serve(t)
	defer s.queue.AddApprover()()
	ctx := t.Context()
	if all, err := c.Answers(ctx, KindDenial); err != nil || all == nil || len(all) != 0 {
		t.Errorf("Denials of none = %v, %v, want an empty list", all, err)
	}
	answer := put(t, s, "01", "git", "push\x1b[2J", strings.Repeat("x", 5000))
	all, err := c.Pending(ctx)
	if err != nil || len(all) != 1 {
		t.Fatalf("Pending = %v, %v", all, err)
	}
	for _, terms := range []string{`"for": "1m"`, `"times": 2`, `"for": "soon"`, `"always": true, "times": 2`} {
		body := `{"digest": "` + all[0].Digest + `", "waiting": ["01"], ` + terms + `}`
		if _, err := c.do(ctx, http.MethodPost, "/deny/01", []byte(body), http.StatusOK); !errors.Is(err, approval.ErrTerms) {
			t.Errorf("deny with %s: %v", terms, err)
		}
	}
	changed := all[0]
	changed.Digest = "0"
	if err := c.Deny(ctx, changed, "", true); !errors.Is(err, approval.ErrChanged) {
		t.Errorf("Deny with another's digest: %v", err)
	}
	if err := c.Deny(ctx, all[0], "no \x1b", true); err != nil {
		t.Fatal(err)
	}
	if a := <-answer; a.Outcome != approval.Denied || a.Reason != "no \x1b" || a.By == "" {
		t.Errorf("the answer is %+v", a)
	}
	got, err := c.Answers(ctx, KindDenial)
	if err != nil || len(got) != 1 {
		t.Fatalf("Denials = %+v, %v", got, err)
	}
	d := got[0]
	if d.Args[1] != `"push\x1b[2J"` || d.Reason != `"no \x1b"` || d.User == "" || d.Session != "s" || d.Cut == nil {
		t.Errorf("shown is %+v", d)
	}
	if whole, err := c.Answer(ctx, KindDenial, d.ID); err != nil || len(whole.Args[2]) != 5000 || whole.Cut != nil {
		t.Errorf("the whole is %+v, %v", whole, err)
	}
	if err := c.Revoke(ctx, KindDenial, d.ID); err != nil {
		t.Error(err)
	}
	if err := c.Revoke(ctx, KindDenial, d.ID); !errors.Is(err, approval.ErrNoDenial) {
		t.Errorf("revoked again: %v", err)
	}
}
