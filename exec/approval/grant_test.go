// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// granted asks a, makes a grant for it, and returns its answer.
func granted(t *testing.T, q *Queue, a Question, terms Terms) Answer {
	t.Helper()
	entered := q.Changed()
	got := put(t.Context(), q, a)
	<-entered
	if err := q.Grant(a.ID, a.Digest(), []string{a.ID}, "ann", terms); err != nil {
		t.Fatal(err)
	}
	return <-got
}

// Attack 158.
func TestTerms(t *testing.T) {
	for _, tt := range []struct {
		name  string
		terms Terms
		calls int           // after the first, at once
		after time.Duration // then the next call asks
		holds string        // for the log
	}{
		{"for a while", Terms{For: 15 * time.Minute}, 50, 15 * time.Minute, "until 2000-01-01T00:15:00Z"},
		{"once", Terms{Times: 1}, 0, 0, "for this number of calls: 1"},
		{"some times", Terms{Times: 3}, 2, 0, "for this number of calls: 3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := open()
			if a := granted(t, q, ask("1", "git", "push"), tt.terms); a.Outcome != Approved || a.By != "ann" || a.Inputs != "" || !strings.HasSuffix(a.Grant, tt.holds) {
				t.Errorf("%s: the first is told %+v", tt.name, a)
			}
			for i := range tt.calls {
				if g, ok, err := q.Granted(ask("2", "git", "push")); !ok || err != nil || g.User != "ann" {
					t.Fatalf("%s: call %d: %+v, %t, %v", tt.name, i+2, g, ok, err)
				}
			}
			time.Sleep(tt.after) // on synctest's clock
			if _, ok, _ := q.Granted(ask("3", "git", "push")); ok || len(q.Grants()) != 0 {
				t.Errorf("%s: it holds on: %+v", tt.name, q.Grants())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		q := open()
		granted(t, q, ask("1", "make"), Terms{Always: true})
		time.Sleep(1000 * time.Hour)
		if _, ok, _ := q.Granted(ask("2", "make")); !ok {
			t.Error("always has ended")
		}
		for name, other := range map[string]Question{
			"another argument": ask("3", "make", ""), "other bytes": ask("3", "make\n"), "another rule": {Args: []string{"make"}, Rule: "x"},
		} {
			if _, ok, _ := q.Granted(other); ok {
				t.Errorf("%s is granted too", name)
			}
		}
		elsewhere := ask("4", "make")
		elsewhere.Cwd = "/w/sub"
		if _, ok, _ := q.Granted(elsewhere); ok {
			t.Error("another directory is granted too")
		}
	})
}

func TestBadTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		a := ask("1", "a")
		got := put(t.Context(), q, a)
		synctest.Wait()
		for _, terms := range []Terms{{}, {For: -1}, {For: time.Hour, Times: 1}, {Times: -1}, {Always: true, Times: 2}} {
			if err := q.Grant("1", a.Digest(), []string{"1"}, "", terms); err != ErrTerms {
				t.Errorf("%+v: %v, want %v", terms, err, ErrTerms)
			}
		}
		for _, err := range []error{q.Grant("1", "0", []string{"1"}, "", Terms{Always: true}), q.Grant("1", a.Digest(), []string{"2"}, "", Terms{Always: true})} {
			if err != ErrChanged {
				t.Errorf("not as shown: %v, want %v", err, ErrChanged)
			}
		}
		if len(q.Grants()) != 0 || len(q.Pending()) != 1 {
			t.Errorf("what failed left %+v, %+v", q.Grants(), q.Pending())
		}
		if err := q.Deny("1", a.Digest(), "", ""); err != nil {
			t.Error(err)
		}
		<-got
	})
}

// TestGrantOfThoseThatWait checks that waiting callers count: with three callers and a grant for
// two calls, one caller still waits.
//
// Attack 72.
func TestGrantOfThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		a := ask("0", "make")
		var got [3]<-chan Answer
		for i := range got {
			got[i] = put(t.Context(), q, ask(strconv.Itoa(i), "make"))
			synctest.Wait()
		}
		if err := q.Grant("0", a.Digest(), []string{"0"}, "", Terms{Times: 2}); err != nil {
			t.Fatal(err)
		}
		<-got[0]
		<-got[1] // not shown, and next in order
		if all := q.Pending(); len(all) != 1 || len(all[0].Waiting) != 1 || len(q.Grants()) != 0 {
			t.Fatalf("%+v wait, granted is %+v", all, q.Grants())
		}
		// The question still has the ID of a caller that no longer waits. This ID remains valid.
		if err := q.Grant("0", a.Digest(), []string{"2"}, "", Terms{Always: true}); err != nil {
			t.Fatal(err)
		}
		<-got[2]
		if a := q.Ask(t.Context(), ask("4", "make"), nil); a.Outcome != Approved || !strings.HasPrefix(a.By, "grant ") {
			t.Errorf("asked all the same: %+v", a)
		}
	})
}

func TestRevoke(t *testing.T) {
	q := open()
	granted(t, q, ask("1", "a"), Terms{Always: true})
	granted(t, q, ask("2", "b"), Terms{Always: true})
	if err := q.Revoke(q.Grants()[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := q.Granted(ask("3", "a")); ok || len(q.Grants()) != 1 {
		t.Errorf("left is %+v", q.Grants())
	}
	if err := q.Revoke("0123456789abcdef"); err != ErrNoGrant {
		t.Errorf("revoked what there is not: %v", err)
	}
}

// stored returns a queue of session s that stores its grants in file.
func stored(t *testing.T, file string) *Queue {
	t.Helper()
	q := &Queue{CanNotify: func() bool { return true }}
	if err := q.LoadGrants(file, "s"); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestGrantRace checks that a grant for three calls approves three of any number of concurrent
// callers.
//
// Attack 72.
func TestGrantRace(t *testing.T) {
	const times, callers = 3, 8
	for range 200 {
		q := stored(t, filepath.Join(t.TempDir(), "grants.json"))
		granted(t, q, ask("0", "a"), Terms{Times: times + 1})
		var ran atomic.Int32
		var wg sync.WaitGroup
		for i := range callers {
			// end at once: each asks once.
			wg.Go(func() {
				if _, ok, err := q.Granted(ask(strconv.Itoa(i), "a")); err != nil {
					t.Error(err)
				} else if ok {
					ran.Add(1)
				}
			})
		}
		wg.Wait()
		if ran.Load() != times {
			t.Fatalf("%d ran, %d were granted", ran.Load(), times)
		}
	}
}

// TestFile checks that a new queue loads the valid grants, and no used or expired ones.
//
// Attack 72.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	q := stored(t, file)
	odd := ask("1", "git", "\xff\x00\n", "'\"\u202e")
	odd.Cwd, odd.Container, odd.Project = "/w\xfe", "c", "p"
	odd.Copied = map[int]string{2: "./\xfe"}
	odd.Effects, odd.Grade, odd.Notes = []string{"write"}, policy.GradePossible, []string{"stdin is \xff"}
	granted(t, q, odd, Terms{Always: true})
	granted(t, q, ask("2", "make"), Terms{For: time.Hour})
	granted(t, q, ask("3", "rm"), Terms{Times: 3})
	granted(t, q, ask("4", "over"), Terms{For: time.Nanosecond})
	q.Granted(ask("5", "rm"))
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", fi, err)
	}
	again := stored(t, file)
	was, is := q.Grants(), again.Grants()
	if len(is) != 3 || len(was) != 3 {
		t.Fatalf("there are %+v, were %+v", is, was)
	}
	for i := range is {
		if is[i].ID != was[i].ID || is[i].digest != was[i].digest || is[i].digest != is[i].Question.Digest() || is[i].Left != was[i].Left || !is[i].Until.Equal(was[i].Until) {
			t.Errorf("it is %+v, was %+v", is[i], was[i])
		}
	}
	if !reflect.DeepEqual(is[0].Question.Args, odd.Args) || !reflect.DeepEqual(is[0].Question.Copied, odd.Copied) {
		t.Errorf("the bytes are %q, were %q", is[0].Question.Args, odd.Args)
	}
	for i, want := range []bool{true, false} { // three calls, two of them used before
		if _, ok, err := again.Granted(ask("6", "rm")); ok != want || err != nil {
			t.Errorf("call %d of rm: %t, %v", i, ok, err)
		}
	}
	if err := new(Queue).LoadGrants(file+"no", "s"); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestBrokenFile checks that a modified file yields no grants at all.
func TestBrokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	q := stored(t, file)
	granted(t, q, ask("1", "a"), Terms{Always: true})
	granted(t, q, ask("2", "b"), Terms{Times: 9})
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"args"`, `"argv"`}, {`"always": true`, `"always": false`}, {`"left": 8`, `"left": -1`}, {`"left": 8`, `"left": 8, "always": true`},
		{`\"a\"`, `a`}, {`\"/w\"`, "`/w`"}, {`"session": "\"s\""`, `"session": "\"t\""`}, {`"id": "`, `"id": "x`}, {"]\n}", "]"}, {"\n]\n", "\n]\n[]"}, {"[", ""}, {`"made"`, `"maid"`},
		{`"id": "`, `"copied": {"1": "\"a\""}, "id": "`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if change[0] == "]\n}" {
			bad = bad[:len(bad)/2]
		}
		if bad == string(good) {
			t.Fatalf("there is no %s in %s", change[0], good)
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		broken := &Queue{}
		if err := broken.LoadGrants(file, "s"); err == nil || len(broken.Grants()) != 0 {
			t.Errorf("%s for %s: %v, and %d grants", change[1], change[0], err, len(broken.Grants()))
		}
	}
}

// TestUnwritableFile checks that a grant that cannot be stored approves nothing, and that a call
// that cannot be counted does not run.
func TestUnwritableFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	q := stored(t, filepath.Join(dir, "grants.json"))
	granted(t, q, ask("1", "a"), Terms{Times: 3})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := q.Granted(ask("2", "a")); ok || err == nil {
		t.Errorf("it runs, uncounted: %t, %v", ok, err)
	}
	b := ask("3", "b")
	ctx, cancel := context.WithCancel(t.Context())
	entered := q.Changed()
	got := put(ctx, q, b)
	<-entered
	if err := q.Grant("3", b.Digest(), []string{"3"}, "", Terms{Always: true}); err == nil || errors.Is(err, ErrChanged) {
		t.Errorf("granted: %v", err)
	}
	cancel()
	if a := <-got; a.Outcome != Cancelled {
		t.Errorf("the caller is told %+v", a)
	}
}
