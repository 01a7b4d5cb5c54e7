// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// askVarying adds a question whose argument 1 may vary as a path, or among words.
func (w *watcher) askVarying(t *testing.T) <-chan approval.Answer {
	t.Helper()
	path := approval.Offer{Argument: 1}
	path.Forms = append(path.Forms, "path", "words")
	q := approval.Question{
		ID: ask1, Args: []string{"cat", "a", "</code>\x1b"}, Cwd: "/w", Path: "/usr/bin/cat", Rule: "cat/any", Session: w.id,
		Mount: approval.BindMount{Target: "/w", Source: "/home/you/app"}, Paths: []int{1},
		Offers: []approval.Offer{path, {Argument: 2, Problem: "it is strange"}},
	}
	changed, answer := w.queue.Changed(), make(chan approval.Answer, 1)
	// Ends with the answer or with the test's context.
	go func() { answer <- w.queue.Ask(t.Context(), q, nil) }()
	<-changed
	return answer
}

// TestVary checks that the API names the arguments that may vary, refuses others with the reason, and lists the grant
// as a rule. The card and the list show that rule, escaped.
func TestVary(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.askVarying(t)
	q := s.only()
	if len(q.Vary) != 1 || q.Vary[0].Argument != 1 || q.Vary[0].Below != "/w" || len(q.Vary[0].Forms) != 2 {
		t.Fatalf("it offers %+v", q.Vary)
	}
	card := s.try(http.MethodGet, "/pending", "", html).body
	for _, part := range []string{`<option value="1=path" data-before="cat" data-after="$&#39;&lt;/code&gt;\033&#39;" data-form="&lt;path below /w&gt;">`, `<option value="1=" `} {
		if !strings.Contains(card, part) {
			t.Errorf("the card lacks %s:\n%s", part, card)
		}
	}
	for spec, want := range map[string]string{"2": "it is strange", "1=number": "cannot vary as a number", "3": "no argument 3", "x": "names no argument"} {
		a := s.try(http.MethodPost, "/approve/"+ask1, on(q, control.Decision{Always: true, Vary: spec}), nil)
		if a.code != 400 || !strings.Contains(a.body, want) {
			t.Errorf("vary %s = %d, %s, want %q", spec, a.code, a.body, want)
		}
	}
	if a := s.try(http.MethodPost, "/approve/"+ask1, on(q, control.Decision{Vary: "1"}), nil); a.code != 400 || !strings.Contains(a.body, approval.ErrTerms.Error()) {
		t.Errorf("vary without terms = %d, %s", a.code, a.body)
	}
	a := s.try(http.MethodPost, "/approve/"+ask1, on(q, control.Decision{Times: 5, Vary: "1"}), html)
	if a.code != 200 || !strings.Contains(a.body, "for 5 calls: cat &lt;path below /w&gt; $&#39;") {
		t.Errorf("vary = %d, %s", a.code, a.body)
	}
	if answer := <-got; answer.Outcome != approval.Approved {
		t.Errorf("the answer is %+v", answer)
	}
	var all []control.StandingAnswer
	s.get("/grants", &all)
	if len(all) != 1 || all[0].Vary == nil || all[0].Vary.Rule != `cat <path below /w> $'</code>\033'` || all[0].Vary.Form != "path" || all[0].Left != 4 {
		t.Errorf("the grant is %+v", all)
	}
	s.readEvents(html).next("grants", "cat &lt;path below /w&gt;")
}
