// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// TestDenials checks that a denial for this session refuses the same question, is listed, and has no effect
// after its revocation.
func TestDenials(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	cards := s.readEvents(html)
	answer := w.ask(t, ask1, "make", "all")
	r := s.only()
	for _, bad := range []control.Decision{{For: "1m"}, {Times: 2}, {Times: 2, Always: true}} {
		if a := s.try(http.MethodPost, "/deny/"+ask1, on(r, bad), nil); a.code != 400 {
			t.Errorf("deny on %+v = %d, %s", bad, a.code, a.body)
		}
	}
	a := s.try(http.MethodPost, "/deny/"+ask1, on(r, control.Decision{Always: true, Reason: "not now"}), html)
	if a.code != 200 || !strings.Contains(a.body, "Denied</strong> for this session") {
		t.Errorf("deny = %d, %s", a.code, a.body)
	}
	if got := <-answer; got.Outcome != approval.Denied || got.Reason != "not now" {
		t.Errorf("the answer is %+v", got)
	}
	cards.next("denials", "not now")
	var all []control.StandingAnswer
	if s.get("/denials", &all); len(all) != 1 || all[0].Session != w.id || all[0].Reason != "not now" {
		t.Fatalf("/denials = %+v", all)
	}
	for _, code := range []int{200, 404} {
		if a := s.try(http.MethodDelete, "/denials/"+all[0].ID, "", nil); a.code != code {
			t.Errorf("revoke = %d, %s, want %d", a.code, a.body, code)
		}
	}
	if len(w.queue.Denials()) != 0 {
		t.Error("what was revoked holds")
	}
}

// forbidden makes a denial that holds for this session.
func (w *watcher) forbidden(t *testing.T, args ...string) {
	t.Helper()
	answer := w.ask(t, "88a0c1d2e3f40516", args...)
	q := w.queue.Pending()[0]
	if err := w.queue.DenyAlways(q.ID, q.Digest(), "use go test", "you"); err != nil {
		t.Fatal(err)
	}
	<-answer
}
