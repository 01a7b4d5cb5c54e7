// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// on returns a decision that approves r on terms.
func on(r APIQuestion, d control.Decision) string {
	d.Digest, d.Waiting = r.Digest, r.Waiting
	b, _ := json.Marshal(d)
	return string(b)
}

// TestGrants checks that a grant lets requests run without a question. It is listed together with those of
// other sessions, and has no effect after its revocation.
func TestGrants(t *testing.T) {
	store := newStore(t)
	other, w, s := newWatcher(t, store), newWatcher(t, store), newPage(t, store)
	other.allowed(t, "git", "fetch")
	events, cards := s.readEvents(nil), s.readEvents(html)
	events.next("grants", "fetch")
	for i, terms := range []control.Decision{{For: "15m"}, {Times: 5}, {Always: true}} {
		answer := w.ask(t, ask1, "make", strings.Repeat("x", i+1))
		a := s.try(http.MethodPost, "/approve/"+ask1, on(s.only(), terms), nil)
		if a.code != 200 || a.body != `{"status":"approved","id":"`+ask1+`"}`+"\n" {
			t.Errorf("on %+v = %d, %s", terms, a.code, a.body)
		}
		if got := <-answer; got.Outcome != approval.Approved {
			t.Errorf("on %+v the answer is %+v", terms, got)
		}
	}
	events.next("grants", "xxx")
	cards.next("grants", "4 more calls")
	var all []control.StandingAnswer
	if s.get("/grants", &all); len(all) != 4 {
		t.Fatalf("/grants = %+v, want four", all)
	}
	if g := all[1]; g.Session != w.id || g.Container != "web" || g.Until.Sub(g.Made) != 15*time.Minute || all[2].Left != 4 || all[0].Session != other.id {
		t.Errorf("/grants = %+v", all)
	}
	for _, g := range all {
		if a := s.try(http.MethodDelete, "/grants/"+g.ID, "", nil); a.code != 200 || a.body != `{"status":"revoked","id":"`+g.ID+`"}`+"\n" {
			t.Errorf("revoke = %d, %s", a.code, a.body)
		}
		if a := s.try(http.MethodDelete, "/grants/"+g.ID, "", nil); a.code != 404 || a.body != `{"error":"no such grant"}`+"\n" {
			t.Errorf("revoked again = %d, %s", a.code, a.body)
		}
	}
	if len(w.queue.Grants())+len(other.queue.Grants()) != 0 {
		t.Error("what was revoked holds")
	}
	events.next("grants", "[]")
}

// TestStoredGrants checks that grants and denials of a session without a watcher are listed, and can be revoked.
func TestStoredGrants(t *testing.T) {
	store := newStore(t)
	rec, s := &state.Session{ID: state.NewID(), ContainerName: "web"}, newPage(t, store)
	if err := store.Create(rec); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state.LockFile(store.Dir(rec.ID)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &watcher{id: rec.ID}
	w.queue.CanNotify = func() bool { return true }
	if err := errors.Join(w.queue.LoadGrants(state.GrantsFile(store.Dir(w.id)), w.id), w.queue.LoadDenials(state.DenialsFile(store.Dir(w.id)), w.id)); err != nil {
		t.Fatal(err)
	}
	w.allowed(t, "git", "fetch")
	answer := w.ask(t, ask1, "git", "push")
	if q := w.queue.Pending()[0]; w.queue.DenyAlways(q.ID, q.ShownDigest(), "no", "me") != nil {
		t.Fatal("it is not denied")
	}
	<-answer
	for list, word := range map[string]string{"grants": "fetch", "denials": "push"} {
		events := s.readEvents(nil)
		var all []control.StandingAnswer
		if s.get("/"+list, &all); len(all) != 1 || all[0].Args[1] != word || all[0].Session != rec.ID {
			t.Fatalf("/%s = %+v", list, all)
		}
		events.next(list, word)
		if a := s.try(http.MethodDelete, "/"+list+"/"+all[0].ID, "", nil); a.code != 200 {
			t.Errorf("revoke = %d, %s", a.code, a.body)
		}
		if a := s.try(http.MethodDelete, "/"+list+"/"+all[0].ID, "", nil); a.code != 404 {
			t.Errorf("revoked again = %d, %s", a.code, a.body)
		}
		if s.get("/"+list, &all); len(all) != 0 {
			t.Errorf("/%s = %+v after it was revoked", list, all)
		}
		events.next(list, "[]")
	}
}

// TestBadTerms checks that invalid terms approve nothing.
func TestBadTerms(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.ask(t, ask1, "make")
	q := s.only()
	for _, d := range []control.Decision{{For: "soon"}, {For: "0s"}, {For: "-1m"}, {Times: -1}, {For: "1m", Times: 2}, {Times: 2, Always: true}} {
		a := s.try(http.MethodPost, "/approve/"+ask1, on(q, d), nil)
		if a.code != 400 || !strings.Contains(a.body, approval.ErrTerms.Error()) {
			t.Errorf("on %+v = %d, %s", d, a.code, a.body)
		}
	}
	if all := w.queue.Grants(); len(all) != 0 || s.only().ID != ask1 {
		t.Errorf("there are grants: %+v", all)
	}
	s.try(http.MethodPost, "/deny/"+ask1, "", nil)
	<-got
}

// TestOffers checks that the card offers once first and sends the right terms for each entry. The settled
// card shows how long the approval holds.
func TestOffers(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.ask(t, ask1, "make", "", " x")
	a := s.try(http.MethodGet, "/pending", "", html)
	for _, part := range []string{`data-for="15m"`, `data-times="5"`, `data-always="true"`, `aria-keyshortcuts="Shift+A"`, `<li class="blank"`, `data-gone="0"`, "app</code> <code>main"} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the card lacks %q:\n%s", part, a.body)
		}
	}
	if n := strings.Count(a.body, `class="grant" disabled hx-post="/approve/`+ask1); n != len(offers) {
		t.Errorf("%d are offered, want %d", n, len(offers))
	}
	a = s.try(http.MethodPost, "/approve/"+ask1, on(s.only(), control.Decision{For: "15m"}), html)
	if a.code != 200 || !strings.Contains(a.body, "Approved</strong> for 15 minutes") {
		t.Errorf("after it: %d, %s", a.code, a.body)
	}
	<-got
}

func TestGrantIsDescribed(t *testing.T) {
	for _, tt := range []struct {
		terms approval.Terms
		want  string
	}{
		{approval.Terms{}, ""}, {approval.Terms{Times: 1}, ""}, {approval.Terms{Times: 5}, "for 5 calls"}, {approval.Terms{Always: true}, "for this session"},
		{approval.Terms{For: 15 * time.Minute}, "for 15 minutes"}, {approval.Terms{For: time.Hour}, "for about an hour"},
	} {
		if got := describeTerms(tt.terms); got != tt.want {
			t.Errorf("holding(%+v) = %q, want %q", tt.terms, got, tt.want)
		}
	}
}
