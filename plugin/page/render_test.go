// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func rendered(t *testing.T, name string, data any) string {
	t.Helper()
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLines checks that a newline breaks the line and is still shown as \n.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		want []line
	}{
		{"plain", []line{{Text: "plain"}}}, {"", []line{{}}}, {`a\nb`, []line{{Text: `a\nb`}}},
		{`"a\nb"`, []line{{`"a`, true}, {Text: `b"`}}},
		{`"\n\n"`, []line{{`"`, true}, {"", true}, {Text: `"`}}},
		{`"a\\nb\x1b"`, []line{{Text: `"a\\nb\x1b"`}}}, // a backslash and an n
		{`"a\nb`, []line{{Text: `"a\nb`}}},             // a quoted argument that is cut
	} {
		if got := lines(tt.arg); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("lines(%s) = %v, want %v", tt.arg, got, tt.want)
		}
	}
}

// TestCard checks that a card has the warning of its grade and shows the command in one line.
func TestCard(t *testing.T) {
	for _, tt := range []struct {
		q    control.Question
		want string
	}{
		{control.Question{Grade: "certain"}, `<p class="grade certain"><strong>HOST CODE EXECUTION</strong>: it runs code from files`},
		{control.Question{Grade: "possible"}, `<p class="grade possible"><strong>possible host code execution</strong>: it may run code`},
		{control.Question{Grade: "unknown"}, `<p class="grade unknown"><strong>host code execution not known</strong>: nothing says`},
		{control.Question{}, `<article class="request live" id=`},
	} {
		q := tt.q
		q.ID, q.Waiting, q.Args = "00", []string{"00"}, names.PrintableArgs([]string{"git", "commit", "-m", "it's\nnew", `"`})
		got := rendered(t, "request", card{APIQuestion: newAPIQuestion(q)})
		for _, part := range []string{tt.want, `<code>git commit -m $&#39;it\&#39;s\nnew&#39; &#39;&#34;&#39;</code></p>`, `it&#39;s<span class="newline">\n</span><br>new`} {
			if !strings.Contains(got, part) {
				t.Errorf("a card of grade %q lacks %s:\n%s", q.Grade, part, got)
			}
		}
	}
	long := newAPIQuestion(control.Question{ID: "00", Args: []string{"x", strings.Repeat("y", 9000)}})
	if got := oneLine(long.Cmd); len(got) > maxShortCommand+10 || !strings.HasSuffix(got, " ...") {
		t.Errorf("a long command is shown in one line of %d bytes, which end with %q", len(got), got[len(got)-5:])
	}
}

// TestHistoryIsFolded checks that the newest entries are shown and the older ones are folded.
func TestHistoryIsFolded(t *testing.T) {
	for n, want := range map[int][2]int{0: {0, 0}, 10: {10, 0}, 11: {10, 1}, 50: {10, 40}} {
		var all []control.Event
		for i := range n {
			all = append(all, control.Event{Kind: "ran", Cmd: fmt.Sprint("make ", i), Time: time.Now()})
		}
		first, rest, _ := strings.Cut(rendered(t, "audit", all), `data-part="older"`)
		if got := [2]int{strings.Count(first, "make "), strings.Count(rest, "make ")}; got != want {
			t.Errorf("of %d, %v are shown and folded, want %v", n, got, want)
		}
	}
}

// TestSessionRow checks the row of a session with commands, running calls and shells.
func TestSessionRow(t *testing.T) {
	got := rendered(t, "sessions", []control.Summary{{
		Container: "box", Commands: []state.Command{{Name: "make", Path: "/usr/bin/make", Action: "ask"}},
		Running: []control.Running{{Request: "00", Args: []string{"make", "all"}, Dir: "/w"}},
		Shells:  []shell.Info{{Name: "one", Dir: "/a", Busy: true}, {Name: "two", In: "c0", Dir: "/b"}},
	}})
	for _, part := range []string{"<b>box</b>", ">make</code>", `aria-label="Kill make all"`, "shell one, busy</span> <code>/a</code>", "shell two</span> <code>c0:/b</code>"} {
		if !strings.Contains(got, part) {
			t.Errorf("the sessions lack %s:\n%s", part, got)
		}
	}
}
