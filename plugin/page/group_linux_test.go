// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// same adds the question that every container asks, in a directory of its own.
func (w *watcher) same(t *testing.T, id string) <-chan approval.Answer {
	t.Helper()
	changed, answer := w.queue.Changed(), make(chan approval.Answer, 1)
	q := approval.Question{
		ID: id, Args: []string{"make", "all"}, Cwd: "/w", Dir: "/home/you/" + id, Path: "/usr/bin/make", Rule: "make", Session: w.id,
		Container: "c" + id[len(id)-1:], Project: "p" + id[len(id)-1:], Setup: "equal",
	}
	// Ends with the answer or with the test's context.
	go func() { answer <- w.queue.Ask(t.Context(), q, nil) }()
	<-changed
	return answer
}

// three is a page, and three containers that ask the same.
func three(t *testing.T) (s *served, store *state.Store, all []*watcher, answers []<-chan approval.Answer, shown []APIQuestion) {
	t.Helper()
	store = newStore(t)
	for i := range 3 {
		w := newWatcher(t, store)
		all, answers = append(all, w), append(answers, w.same(t, fmt.Sprintf("%016x", 0xa1+i)))
	}
	s = newPage(t, store)
	s.get("/pending", &shown)
	return s, store, all, answers, shown
}

// members returns a decision on the requests shown.
func members(shown []APIQuestion, d control.Decision) string {
	body := cardDecision{Decision: d}
	for _, r := range shown {
		body.Members = append(body.Members, &member{ID: r.ID, Digest: r.Digest, Waiting: r.Waiting})
	}
	b, _ := json.Marshal(body)
	var fields map[string]any
	_ = json.Unmarshal(b, &fields)
	delete(fields, "digest")
	delete(fields, "waiting")
	b, _ = json.Marshal(fields)
	return string(b)
}

// TestGroup shows what three containers ask on one card. A decision settles what was shown: not what came later, and
// not what has changed. It tells which questions were not settled.
func TestGroup(t *testing.T) {
	s, store, all, answers, shown := three(t)
	if len(shown) != 3 || shown[0].Group == "" || shown[1].Group != shown[0].Group || shown[2].Group != shown[0].Group {
		t.Fatalf("/pending = %+v, want three of a group", shown)
	}
	cards := s.readEvents(html)
	if card := cards.next("pending", "for c1, c2, c3"); strings.Count(card, "<article") != 1 || strings.Count(card, `class="member"`) != 3 {
		t.Errorf("the card is\n%s", card)
	}
	late := newWatcher(t, store)
	four := late.same(t, "00000000000000a4")
	if err := all[1].queue.Deny(shown[1].ID, shown[1].Digest, "", "you"); err != nil {
		t.Fatal(err)
	}
	<-answers[1]
	cards.next("pending", "for c1, c3, c4")
	wrong := slices.Clone(shown)
	wrong[2].Digest = "0000"
	a := s.try(http.MethodPost, "/approve/"+shown[0].ID, members(wrong, control.Decision{For: "15m"}), html)
	for _, part := range []string{
		`<article class="request settled approved" id="r-` + shown[0].ID, "Approved</strong> 1 of 3 for 15 minutes", "Not approved: c2: does not wait any more", "Not approved: c3: the request is not the one that was shown",
		`data-answered="` + shown[0].ID + `"`,
	} {
		if a.code != 200 || !strings.Contains(a.body, part) {
			t.Errorf("approve = %d, and lacks %q:\n%s", a.code, part, a.body)
		}
	}
	if got := <-answers[0]; got.Outcome != approval.Approved {
		t.Errorf("the first: %+v", got)
	}
	a = s.try(http.MethodPost, "/approve/"+shown[2].ID, members(wrong[1:], control.Decision{}), html)
	for _, part := range []string{`<article class="request live" id="r-` + shown[2].ID, "It changed while you looked"} {
		if a.code != 409 || !strings.Contains(a.body, part) {
			t.Errorf("approve of what has changed = %d, and lacks %q:\n%s", a.code, part, a.body)
		}
	}
	a = s.try(http.MethodPost, "/approve/"+shown[2].ID, members(shown[1:], control.Decision{}), nil)
	const want = `{"status":"approved","id":"00000000000000a3","members":[{"id":"00000000000000a2","error":"no such request waits for approval"},{"id":"00000000000000a3","status":"approved"}]}`
	if a.code != 207 || a.body != want+"\n" {
		t.Errorf("approve = %d, %s, want 207, %s", a.code, a.body, want)
	}
	<-answers[2]
	if a := s.try(http.MethodPost, "/approve/"+shown[0].ID, members(shown, control.Decision{}), nil); a.code != 404 {
		t.Errorf("approve again = %d, %s", a.code, a.body)
	}
	for i, w := range append(all, late) {
		if n := len(w.queue.Grants()); n != map[bool]int{i == 0: 1}[true] {
			t.Errorf("container %d has %d grants", i, n)
		}
	}
	if left := late.queue.Pending(); len(left) != 1 || len(four) != 0 {
		t.Errorf("of the later one %d wait", len(left))
	}
}

// TestGroupGrants checks that an approval on terms makes a grant for each session, and a denial one for each session.
func TestGroupGrants(t *testing.T) {
	for verb, holds := range map[string]func(*watcher) int{
		"approve": func(w *watcher) int { return len(w.queue.Grants()) }, "deny": func(w *watcher) int { return len(w.queue.Denials()) },
	} {
		s, _, all, answers, shown := three(t)
		cards := s.readEvents(html)
		a := s.try(http.MethodPost, "/"+verb+"/"+shown[1].ID, members(shown, control.Decision{Always: true}), nil)
		if a.code != 200 || strings.Count(a.body, `"status":`) != 4 {
			t.Errorf("%s = %d, %s", verb, a.code, a.body)
		}
		for i, w := range all {
			<-answers[i]
			if holds(w) != 1 {
				t.Errorf("%s: container %d has %d", verb, i, holds(w))
			}
		}
		if got := cards.next("pending", " 3 of 3 "); !strings.Contains(got, "</strong> 3 of 3 for this session in another window") {
			t.Errorf("%s: other tabs show\n%s", verb, got)
		}
	}
}

// TestGroupIsChecked checks that a decision names the questions of one card.
func TestGroupIsChecked(t *testing.T) {
	s, _, all, _, shown := three(t)
	many := slices.Repeat(shown[:1], control.MaxGroup+1)
	for i := range many {
		many[i].ID = fmt.Sprintf("%016x", i)
	}
	many[0].ID = shown[0].ID
	unread := slices.Clone(shown)
	unread[1].Digest = ""
	for name, list := range map[string][]APIQuestion{"without the one of the path": shown[1:], "twice": {shown[0], shown[0]}, "too many": many, "without a digest": unread} {
		for _, verb := range []string{"approve", "deny"} {
			if a := s.try(http.MethodPost, "/"+verb+"/"+shown[0].ID, members(list, control.Decision{}), nil); a.code != 400 {
				t.Errorf("%s, %s = %d, %s", verb, name, a.code, a.body)
			}
		}
	}
	for _, body := range []string{`{"members": []}`, `{"members": [null]}`, `{"digest": "` + shown[0].Digest + `", "waiting": ["` + shown[0].ID + `"], "members": [{"id": "` + shown[0].ID + `", "digest": "x", "waiting": ["y"]}]}`} {
		if a := s.try(http.MethodPost, "/approve/"+shown[0].ID, body, nil); a.code != 400 {
			t.Errorf("approve with %s = %d, %s", body, a.code, a.body)
		}
	}
	for i, w := range all {
		if len(w.queue.Pending()) != 1 {
			t.Errorf("container %d does not wait any more", i)
		}
	}
}

// TestGroupsAreLimited checks that a card has a limited number of questions, and that others get a second card.
func TestGroupsAreLimited(t *testing.T) {
	var waiting []control.Question
	for i := range control.MaxGroup + 1 {
		waiting = append(waiting, control.Question{ID: fmt.Sprintf("%016x", i), Args: []string{"make"}, Group: "g", Container: fmt.Sprint("c", i), Waiting: []string{fmt.Sprintf("%016x", i)}})
	}
	all := cards(waiting, nil)
	if len(all) != 2 || len(all[0].Members) != control.MaxGroup || all[1].Members != nil || all[0].Askers() != "20 containers" {
		t.Errorf("%d cards, of %d and %d", len(all), len(all[0].Members), len(all[1].Members))
	}
	rendered(t, "pending", all)
}
