// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"net/http"
	"os/user"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

const ask1 = "00000000000000a1"

func TestApprove(t *testing.T) {
	store := newStore(t)
	newWatcher(t, store) // another session
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.ask(t, ask1, "make", "a b")
	q := s.only()
	if q.ID != ask1 || q.Cloister != w.id || q.Cmd != "make 'a b'" || q.Branch != "main" || q.Project != "app" || q.Timestamp.Location() != time.UTC || !q.Code {
		t.Errorf("shown is %+v", q)
	}
	a := s.try(http.MethodPost, "/approve/"+ask1, decision(q, ""), nil)
	if a.code != 200 || a.body != `{"status":"approved","id":"`+ask1+`"}`+"\n" {
		t.Errorf("approve = %d, %s", a.code, a.body)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.Outcome != approval.Approved || a.By != me.Username {
		t.Errorf("the answer is %+v, want approval by %s", a, me.Username)
	}
	for _, path := range []string{"/approve/" + ask1, "/deny/" + ask1, "/approve/00", "/deny/x"} {
		if a := s.try(http.MethodPost, path, decision(q, ""), nil); a.code != 404 || !strings.Contains(a.body, `"request not found"`) {
			t.Errorf("%s again = %d, %s", path, a.code, a.body)
		}
	}
}

// TestDeny checks that a denial with a missing or invalid body counts, with the default reason.
func TestDeny(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	for i, tt := range []struct{ body, want string }{
		{"", approval.DefaultReason}, {"{", approval.DefaultReason}, {"[1]", approval.DefaultReason}, {`{"reason": ""}`, approval.DefaultReason},
		{`{"reason": "not \u001b[31mtoday"}`, "not \x1b[31mtoday"},
	} {
		id := fmt.Sprintf("%016x", i)
		got := w.ask(t, id, "make", id)
		if a := s.try(http.MethodPost, "/deny/"+id, tt.body, nil); a.code != 200 || a.body != `{"status":"denied","id":"`+id+`"}`+"\n" {
			t.Errorf("deny with %q = %d, %s", tt.body, a.code, a.body)
		}
		if a := <-got; a.Outcome != approval.Denied || a.Reason != tt.want {
			t.Errorf("deny with %q: the answer is %+v, want reason %q", tt.body, a, tt.want)
		}
	}
}

// TestChanged checks that an approval must name the question as it was shown.
//
// Attacks 111, 117, 149.
func TestChanged(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.ask(t, ask1, "make")
	q := s.only()
	for _, tt := range []struct {
		verb, body string
		code       int
		says       string
	}{
		{"approve", "", 400, "lacks the digest"},
		{"approve", "{", 400, "not a decision"},
		{"approve", `{"digest": "` + q.Digest + `", "waiting": ["` + ask1 + `"], "times": 1, "times": 9}`, 400, "is there twice"},
		{"approve", `{"digest": "` + q.Digest + `", "waiting": ["` + ask1 + `"], "Always": true}`, 400, "is not known"},
		{"approve", `{"digest": "` + q.Digest + `", "waiting": ["` + ask1 + `"]} {}`, 400, "there is more behind it"},
		{"approve", `{"waiting": ["` + ask1 + `"]}`, 400, "lacks the digest"},
		{"approve", `{"digest": "` + q.Digest + `"}`, 400, "lacks the digest"},
		{"approve", `{"digest": "0000", "waiting": ["` + ask1 + `"]}`, 409, q.Digest},
		{"approve", `{"digest": "` + q.Digest + `", "waiting": ["00"]}`, 409, "not the one that was shown"},
		{"deny", `{"digest": "0000"}`, 409, "not the one that was shown"},
		{"approve", strings.Repeat(" ", maxBody+1), 413, "too much"},
		{"deny", strings.Repeat(" ", maxBody+1), 413, "too much"},
	} {
		if a := s.try(http.MethodPost, "/"+tt.verb+"/"+ask1, tt.body, nil); a.code != tt.code || !strings.Contains(a.body, tt.says) {
			t.Errorf("%s with %.40q = %d, %s, want %d and %q", tt.verb, tt.body, a.code, a.body, tt.code, tt.says)
		}
	}
	if a := s.try(http.MethodPost, "/approve/"+ask1, `{"digest": "0000", "waiting": ["x"]}`, html); a.code != 409 || !strings.Contains(a.body, "It changed while you looked") || !strings.Contains(a.body, q.Digest) {
		t.Errorf("the page shows %d, %s", a.code, a.body)
	}
	s.try(http.MethodPost, "/deny/"+ask1, "", nil)
	<-got
}

func html(r *http.Request) { r.Header.Set("HX-Request", "true"); r.Header.Set("Accept", "text/html") }

// TestFirstCallerLeft answers a question whose first caller has left, by the ID of its card.
func TestFirstCallerLeft(t *testing.T) {
	const ask2 = "00000000000000a2"
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	for verb, want := range map[string]approval.Outcome{"approve": approval.Approved, "deny": approval.Denied} {
		ctx, leave := context.WithCancel(t.Context())
		first := w.askUntil(ctx, ask1, "make", verb)
		second := w.ask(t, ask2, "make", verb)
		leave()
		if a := <-first; a.Outcome != approval.Cancelled {
			t.Fatalf("the first caller got %+v", a)
		}
		q := s.only()
		if q.ID != ask1 || len(q.Waiting) != 1 || q.Waiting[0] != ask2 {
			t.Fatalf("%s: %s waits for %v", verb, q.ID, q.Waiting)
		}
		for _, id := range []string{ask1, ask2} {
			if a := s.try(http.MethodGet, "/pending/"+id, "", nil); a.code != 200 {
				t.Errorf("GET /pending/%s = %d, %s", id, a.code, a.body)
			}
		}
		if a := s.try(http.MethodPost, "/"+verb+"/"+ask1, decision(q, ""), html); a.code != 200 {
			t.Fatalf("%s = %d, %s", verb, a.code, a.body)
		}
		if a := <-second; a.Outcome != want {
			t.Errorf("%s: the second caller got %+v", verb, a)
		}
	}
}

// TestOneWins answers one question from many clients at once. One succeeds, and the others get an error.
//
// Attack 112.
func TestOneWins(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	for i := range 30 {
		id := fmt.Sprintf("%016x", i)
		got := w.ask(t, id, "make", id)
		q := s.only()
		codes := make(chan int, 6)
		var wg sync.WaitGroup
		for n := range cap(codes) {
			// Ends with its request.
			wg.Go(func() {
				codes <- s.try(http.MethodPost, []string{"/approve/", "/deny/"}[n%2]+id, decision(q, ""), nil).code
			})
		}
		wg.Wait()
		close(codes)
		won := 0
		for code := range codes {
			if code == 200 {
				won++
			} else if code != 404 {
				t.Errorf("a loser got %d, want 404", code)
			}
		}
		if won != 1 {
			t.Errorf("%d won, want 1", won)
		}
		<-got
	}
}

// TestCardAfterDecision checks that the buttons get the card that replaces the question.
func TestCardAfterDecision(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.ask(t, ask1, "make", "<script>alert(1)</script>")
	q := s.only()
	a := s.try(http.MethodGet, "/pending", "", html)
	for _, part := range []string{`hx-post="/approve/` + ask1, `hx-swap="outerHTML"`, `hx-target="closest .request"`, "&lt;script&gt;", "HOST CODE EXECUTION"} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the card lacks %q:\n%s", part, a.body)
		}
	}
	if strings.Contains(a.body, "<script>") {
		t.Error("the card has a script in it")
	}
	a = s.try(http.MethodPost, "/approve/"+ask1, decision(q, ""), html)
	if a.code != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, "Approved") || strings.Contains(a.body, "<button") {
		t.Errorf("after Approve: %d, %s", a.code, a.body)
	}
	<-got
	a = s.try(http.MethodPost, "/deny/"+ask1, decision(q, ""), html)
	if a.code != 404 || !strings.Contains(a.body, "Approved</strong> in another window") {
		t.Errorf("after that in another tab: %d, %s", a.code, a.body)
	}
}

func TestPendingVersions(t *testing.T) {
	store := newStore(t)
	s := newPage(t, store)
	if a := s.try(http.MethodGet, "/pending", "", nil); a.body != "[]\n" {
		t.Errorf("/pending of nothing = %s, want []", a.body)
	}
	for _, a := range []answer{
		s.try(http.MethodGet, "/pending?v=2", "", nil),
		s.try(http.MethodGet, "/pending", "", func(r *http.Request) { r.Header.Set("Accept", version2) }),
	} {
		if a.body != `{"requests":[]}`+"\n" {
			t.Errorf("version 2 of nothing = %s", a.body)
		}
	}
}

func TestKillAndSessions(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	w.runs = []control.Running{{Request: ask1, Args: []string{"make", "\x1b[2J"}, Dir: "/home/you/app", PID: 7, Since: time.Now()}}
	var all []control.Summary
	if s.get("/sessions", &all); len(all) != 1 || all[0].ID != w.id || all[0].Project != "app" || all[0].Running[0].Args[1] != `"\x1b[2J"` || all[0].Calls != 3 {
		t.Errorf("/sessions = %+v", all)
	}
	if a := s.try(http.MethodPost, "/kill/00", "", nil); a.code != 404 {
		t.Errorf("kill of nothing = %d, %s", a.code, a.body)
	}
	if a := s.try(http.MethodPost, "/kill/"+ask1, "{}", nil); a.code != 200 || !strings.Contains(a.body, `"killed"`) {
		t.Errorf("kill = %d, %s", a.code, a.body)
	}
	if len(w.killed) != 1 || w.killed[0] != ask1 {
		t.Errorf("killed are %q", w.killed)
	}
}
