// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/user"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
)

// serve serves a queue on a socket until the test ends.
func serve(t *testing.T) (*session, *Client) {
	t.Helper()
	dir := t.TempDir()
	ln, err := socket.Bind(dir, "control.sock", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{stopped: make(chan struct{})}
	var wg sync.WaitGroup
	// Ends when ln is closed, below.
	wg.Go(func() {
		if err := Serve(ln, s); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	c := Dial(dir)
	t.Cleanup(func() { c.Close(); ln.Close(); wg.Wait() })
	return s, c
}

func put(t *testing.T, s *session, id string, args ...string) <-chan approval.Answer {
	t.Helper()
	changed, answer := s.queue.Changed(), make(chan approval.Answer, 1)
	// Ends with the answer or with the test's context.
	go func() {
		answer <- s.queue.Ask(t.Context(), approval.Question{ID: id, Args: args, Cwd: "/w\x1b", Session: "s"}, nil)
	}()
	<-changed
	return answer
}

func TestQuestions(t *testing.T) {
	s, c := serve(t)
	defer s.queue.AddApprover()()
	ctx := t.Context()
	if all, err := c.Pending(ctx); err != nil || all == nil || len(all) != 0 {
		t.Errorf("Pending of nothing = %v, %v, want an empty list", all, err)
	}
	first, second := put(t, s, "01", "git", "push\x1b[2J", `"quoted"`), put(t, s, "02", "make")
	all, err := c.Pending(ctx)
	if err != nil || len(all) != 2 || strings.Join(all[0].Args, " ") != `git "push\x1b[2J" "\"quoted\""` || all[0].Cwd != `"/w\x1b"` {
		t.Fatalf("Pending = %+v, %v", all, err)
	}
	changed := all[0]
	changed.Digest = all[1].Digest
	if err := c.Approve(ctx, changed, approval.Terms{}); !errors.Is(err, approval.ErrChanged) {
		t.Errorf("Approve with another's digest: %v, want %v", err, approval.ErrChanged)
	}
	if err := c.Approve(ctx, all[0], approval.Terms{}); err != nil {
		t.Error(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if a := <-first; a.Outcome != approval.Approved || a.By != me.Username {
		t.Errorf("the answer is %+v, want approval by %s", a, me.Username)
	}
	if all := s.queue.Grants(); len(all) != 0 {
		t.Errorf("an approval without terms made %+v", all)
	}
	for _, answer := range []func() error{
		func() error { return c.Approve(ctx, all[0], approval.Terms{}) }, func() error { return c.Deny(ctx, all[0], "", false) },
	} {
		if err := answer(); !errors.Is(err, approval.ErrUnknown) {
			t.Errorf("answered again: %v, want %v", err, approval.ErrUnknown)
		}
	}
	if err := c.Deny(ctx, all[1], "no", false); err != nil {
		t.Error(err)
	}
	if a := <-second; a.Outcome != approval.Denied || a.Reason != "no" {
		t.Errorf("the answer is %+v", a)
	}
	if all := s.queue.Denials(); len(all) != 0 {
		t.Errorf("a denial without always made %+v", all)
	}
}

func TestBadDecisions(t *testing.T) {
	_, c := serve(t)
	for _, body := range []string{"", "null x", "{", `{"digest": 3}`, `{"digets": ""}`, strings.Repeat(" ", maxDecision+1)} {
		if _, err := c.do(t.Context(), http.MethodPost, "/approve/01", []byte(body), http.StatusBadRequest); err != nil {
			t.Errorf("%.20q: %v, want 400", body, err)
		}
	}
}

// TestAmbiguousJSON sends JSON that parsers could interpret differently. The server must reject it.
//
// Attack 45.
func TestAmbiguousJSON(t *testing.T) {
	_, c := serve(t)
	for _, path := range []string{"POST /approve/01", "POST /deny/01", "POST /jobs/01/signal"} {
		method, path, _ := strings.Cut(path, " ")
		key := "digest"
		if path == "/jobs/01/signal" {
			key = "signal"
		}
		for body, why := range map[string]string{
			`{"` + key + `":"a","` + key + `":"b"}`:                  `the key "` + key + `" is there twice`,
			`{"` + key + `":"a","` + strings.ToUpper(key) + `":"b"}`: `the key "` + strings.ToUpper(key) + `" is not known`,
			`{"` + key + `":"a","more":1}`:                           `the key "more" is not known`,
			`{"` + key + `":"a"} {}`:                                 "there is more behind it",
			`{"` + key + `":"\ud800"}`:                               "is half of a pair",
			strings.Repeat(`[`, 10000):                               "it is nested too deep",
			"{\"" + key + "\":\"\xff\"}":                             "it is not UTF-8",
		} {
			answer, err := c.do(t.Context(), method, path, []byte(body), http.StatusBadRequest)
			var told problem
			if err != nil || json.Unmarshal(answer, &told) != nil || !strings.Contains(told.Error, why) {
				t.Errorf("%s %s with %.60q: %v, %s, want 400 and %s", method, path, body, err, answer, why)
			}
		}
	}
}

// TestWatch checks that a client of the events counts as an approver and gets every change.
func TestWatch(t *testing.T) {
	s, c := serve(t)
	if a := s.queue.Ask(t.Context(), approval.Question{ID: "01", Args: []string{"make"}}, nil); a.Outcome != approval.Refused {
		t.Errorf("with nobody there: %+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan int, 8)
	var wg sync.WaitGroup
	// Ends with ctx.
	wg.Go(func() { c.Watch(ctx, func(all []Question) { seen <- len(all) }) })
	if n := <-seen; n != 0 {
		t.Errorf("%d questions at first, want none", n)
	}
	answer := put(t, s, "02", "make")
	if n := <-seen; n != 1 {
		t.Errorf("%d questions, want one", n)
	}
	all, err := c.Pending(ctx)
	if err != nil || len(all) != 1 {
		t.Fatalf("Pending = %v, %v", all, err)
	}
	if err := c.Deny(ctx, all[0], "", false); err != nil {
		t.Error(err)
	}
	<-answer
	if n := <-seen; n != 0 {
		t.Errorf("%d questions at last, want none", n)
	}
	cancel()
	wg.Wait()
}

// TestTexts checks that notes are shown unchanged unless they contain characters that are not printable.
// Texts of the container in them are quoted already.
func TestTexts(t *testing.T) {
	for text, want := range map[string]string{
		`stdin is 3 bytes: "a\n"`: `stdin is 3 bytes: "a\n"`, "copy of \x1b[2J": `"copy of \x1b[2J"`, "\u202e": `"\u202e"`, "": "",
	} {
		if got := texts([]string{text})[0]; got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
