// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// threeAsk returns the same request of three containers.
func threeAsk() (group []control.Question) {
	now := time.Now()
	for i, name := range []string{"web", "db", "web"} {
		id := strings.Repeat(string(rune('a'+i)), 16)
		group = append(group, control.Question{
			ID: id, Session: name, Container: name, Args: []string{"make"}, Path: "/usr/bin/make", Dir: "/home/u/" + id[:1], Cwd: "/w", Rule: "make", Group: "g",
			Project: name, Waiting: []string{id}, Asked: now.Add(time.Duration(i) * time.Second), Deadline: now.Add(time.Hour),
		})
	}
	group[1].Earlier = approval.Earlier{Asked: 2, Approved: 2}
	return group
}

// TestGroupIsShownWhole checks that each container and directory is shown, and common facts only once.
func TestGroupIsShownWhole(t *testing.T) {
	var out strings.Builder
	showQuestion(&out, 200, threeAsk(), 2)
	const want = `
Request aaaaaaaaaaaaaaaa (1 of 2) and 2 of the same command elsewhere, asked less than a second ago, 59 minutes left, asked 3 times
  runs     /usr/bin/make
  for      web, in /home/u/a (/w in the container), project web, request aaaaaaaaaaaaaaaa
  for      db, in /home/u/b (/w in the container), before asked 2 times: 2 approved, project db, request bbbbbbbbbbbbbbbb
  for      web, in /home/u/c (/w in the container), project web, request cccccccccccccccc
  rule     make
  argv[0]  make
`
	if out.String() != want {
		t.Errorf("shown is %s\nwant %s", out.String(), want)
	}
}

// TestGroupRow checks that a row of the table has the containers and directories, and no other row of the group.
func TestGroupRow(t *testing.T) {
	group := threeAsk()
	r := newPendingRow(group, control.Merged(group), false, time.Now())
	want := []string{"aaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbb, cccccccccccccccc", "web, db", "/home/u/a, /home/u/b, /home/u/c", "3", "asked 2 times: 2 approved", "g"}
	for i, got := range []string{r.ID, r.Container, r.Directory, r.Callers, r.Before, r.Group} {
		if got != want[i] {
			t.Errorf("column %d is %q, want %q", i, got, want[i])
		}
	}
	if r := newPendingRow(group, control.Merged(group), true, time.Now()); r.ID != "aaaaaaaaaaaaaaaa +2" {
		t.Errorf("the short ID is %q", r.ID)
	}
}

// TestKeyIsForTheShown checks that a key answers nothing if the group has changed since it was shown.
func TestKeyIsForTheShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := threeAsk()
		d := newQuestionList(nil)
		d.set("web", all[:1])
		d.set("db", all[1:2])
		anything := func(control.Question) bool { return true }
		shown, n := d.next(anything)
		if n != 1 || len(shown) != 2 {
			t.Fatalf("next = %d of %d groups, want 2 of 1", len(shown), n)
		}
		keys := make(chan byte, 1)
		key := func(keep func(control.Question) bool) string {
			defer time.AfterFunc(2*minShown, func() { keys <- keyYes }).Stop()
			key, news := d.key(context.Background(), io.Discard, keys, shown, keep)
			return string(rune(key)) + news
		}
		if got := key(anything); got != "y" {
			t.Errorf("for the shown requests: %q", got)
		}
		d.set("web", []control.Question{all[0], all[2]})
		if got := key(anything); got != "\x00The same request came once more." {
			t.Errorf("for another request: %q", got)
		}
		d.notify()
		if got := key(func(q control.Question) bool { return q.ID != all[2].ID }); got != "y" {
			t.Errorf("for another request that is filtered: %q", got)
		}
		d.set("web", all[2:])
		if got := key(anything); got != "y" {
			t.Errorf("for a request of which another container still waits: %q", got)
		}
		changed := all[1]
		changed.Digest = "0000"
		d.set("db", []control.Question{changed})
		if got := key(anything); !strings.Contains(got, "its callers have gone") {
			t.Errorf("for a request that does not wait any more: %q", got)
		}
	})
}

// TestCallersComeAndGo checks that a key answers a question whose callers change more often than a question must be
// shown.
func TestCallersComeAndGo(t *testing.T) {
	q := control.Question{ID: "0a", Session: "web", Waiting: []string{"0a"}, Group: "g", Digest: "d"}
	t.Run("the same question", func(t *testing.T) {
		callersChange(t, q, func(i int) []control.Question {
			now := q
			now.Waiting = []string{"0a", fmt.Sprint(i)}
			return []control.Question{now}
		})
	})
	t.Run("another question of the group", func(t *testing.T) {
		callersChange(t, q, func(i int) []control.Question {
			other := q
			other.ID = fmt.Sprint(i)
			return []control.Question{q, other}[:1+i%2]
		})
	})
}

// callersChange types y while the questions of q's session change all the time. It fails if y answers nothing.
func callersChange(t *testing.T, q control.Question, change func(i int) []control.Question) {
	synctest.Test(t, func(t *testing.T) {
		d := newQuestionList(nil)
		d.set(q.Session, []control.Question{q})
		ctx, done := context.WithCancel(t.Context())
		var container sync.WaitGroup
		// ends with ctx.
		container.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				time.Sleep(minShown / 10)
				d.set(q.Session, change(i))
			}
		})
		anything := func(control.Question) bool { return true }
		answered := false
		for i := 0; i < control.MaxGroup && !answered; i++ {
			group, _ := d.next(anything)
			keys := make(chan byte, 1)
			typed := time.AfterFunc(2*minShown, func() { keys <- keyYes })
			key, _ := d.key(ctx, io.Discard, keys, group, anything)
			typed.Stop()
			answered = key == keyYes
		}
		done()
		container.Wait()
		if !answered {
			t.Errorf("it was shown %d times, and no key answered it", control.MaxGroup)
		}
	})
}
