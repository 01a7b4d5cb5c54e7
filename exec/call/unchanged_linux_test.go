// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// scripts is a session that asks before sh runs a script of its workspace. file is the element of the rule for the
// script.
func scripts(t *testing.T, file policy.Element) (s *call.Server, work, log string) {
	t.Helper()
	s, log = calltest.NewServer(t)
	work = t.TempDir()
	calltest.Mount(t, s, mount.Default{}, mount.Point{Target: "/w", Source: work, Bind: true})
	r := policy.Rule{ID: "script", Do: policy.Ask, Argv: []policy.Element{file}}
	if err := r.Compile(); err != nil {
		t.Fatal(err)
	}
	sc := *s.Config()
	sc.Scratch = filepath.Join(t.TempDir(), "scratch")
	sc.Policy = &policy.Policy{Rules: map[string]policy.Ruleset{"sh": {Exec: "/bin/sh", Rules: []policy.Rule{r}}}}
	s.SetConfig(&sc)
	return s, work, log
}

var (
	opened = policy.Element{Kind: policy.KindWord, Words: []string{"run.sh"}}
	copied = policy.Element{Kind: policy.KindPath, Min: 1, Max: 1}
)

// askedAbout starts a call and returns its question.
func askedAbout(t *testing.T, s *call.Server) (*calltest.Caller, approval.Question) {
	t.Helper()
	c := calltest.Dial(t, s)
	c.Cwd = "/w"
	changed := s.Queue.Changed()
	c.Exec(t, wire.FDNull, "sh", "run.sh")
	c.Read(t, wire.KindNotice)
	<-changed
	return c, s.Queue.Pending()[0]
}

func approveUnchanged(t *testing.T, s *call.Server, q approval.Question) {
	t.Helper()
	if err := s.Queue.Grant(q.ID, q.ShownDigest(), q.Waiting, "ann", approval.Terms{Unchanged: true}); err != nil {
		t.Fatal(err)
	}
}

// TestUnchangedContent changes a script while its question waits, and after the approval: each time the question comes
// back and shows how. Unchanged content runs without a question.
//
// Attack 264.
func TestUnchangedContent(t *testing.T) {
	for name, element := range map[string]policy.Element{"opened": opened, "copied": copied} {
		t.Run(name, func(t *testing.T) {
			s, work, log := scripts(t, element)
			leave := s.Queue.AddApprover()
			script := filepath.Join(work, "run.sh")
			put := func(text string) {
				if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("echo first\n")
			c, q := askedAbout(t, s)
			if name == "opened" { // the copy stays as it was shown
				put("echo second\n")
				approveUnchanged(t, s, q)
				c.Read(t, wire.KindNotice) // it waits again
				q = s.Queue.Pending()[0]
				if !strings.Contains(q.Diff, "-echo first\n+echo second\n") {
					t.Errorf("the question shows the diff %q", q.Diff)
				}
			}
			approveUnchanged(t, s, q)
			c.Read(t, wire.KindExit)
			leave() // whatever asks now is refused
			if again := callOnce(t, s, "sh", "run.sh"); again.Exit.Code != 0 || again.Out.String() != c.Out.String() {
				t.Errorf("unchanged: %+v, %q", again.Exit, again.Out.String())
			}
			put("echo evil\n")
			if r := callOnce(t, s, "sh", "run.sh"); r.Exit.Code != 126 || r.Out.Len() > 0 {
				t.Errorf("changed: %+v, %q", r.Exit, r.Out.String())
			}
			defer s.Queue.AddApprover()()
			c, q = askedAbout(t, s)
			if !strings.Contains(q.Diff, "+echo evil\n") || q.Inputs.Copied != (name == "copied") {
				t.Errorf("the question shows %q, copied is %t", q.Diff, q.Inputs.Copied)
			}
			c.Conn.Close()
			want := map[string]int{"opened": 3, "copied": 2}[name] // the first grant of the opened script let nothing run
			if lines := calltest.Audited(t, log, "inputs="); len(lines) != want {
				t.Errorf("approvals with files in the log: %q, want %d", lines, want)
			}
		})
	}
}

// TestUnchangedRace exchanges a script 1000 times at random moments between the check of a call and the start of its
// command. It logs how often the other content ran. With a copy, it never does.
//
// Attack 265.
func TestUnchangedRace(t *testing.T) {
	for name, element := range map[string]policy.Element{"opened": opened, "copied": copied} {
		t.Run(name, func(t *testing.T) {
			s, work, _ := scripts(t, element)
			script, other := filepath.Join(work, "run.sh"), filepath.Join(work, "other")
			if err := errors.Join(os.WriteFile(script, []byte("echo mine\n"), 0o600), os.WriteFile(other, []byte("echo evil\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			leave := s.Queue.AddApprover()
			c, q := askedAbout(t, s)
			approveUnchanged(t, s, q)
			c.Read(t, wire.KindExit)
			start := time.Now()
			callOnce(t, s, "sh", "run.sh")
			whole := time.Since(start)
			leave()
			ran := map[string]int{}
			exchange := func() { unix.Renameat2(unix.AT_FDCWD, script, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE) }
			for range 1000 {
				done := make(chan struct{})
				// ends after the exchange.
				go func() {
					defer close(done)
					time.Sleep(time.Duration(rand.Int64N(int64(whole)))) // the moment of the attack
					exchange()
				}()
				c := callOnce(t, s, "sh", "run.sh")
				<-done
				exchange()
				ran[strings.TrimSpace(c.Out.String())]++
			}
			t.Logf("of 1000 exchanges: %d ran the approved content, %d the other, %d were asked about", ran["mine"], ran["evil"], ran[""])
			if name == "copied" && ran["evil"] > 0 || ran["mine"] == 0 {
				t.Errorf("%d ran the other content, %d the approved", ran["evil"], ran["mine"])
			}
		})
	}
}

// TestUnchangedMemory checks that a question does not hold a large script, because each of hundreds of callers has one.
//
// Attack 280.
func TestUnchangedMemory(t *testing.T) {
	s, work, _ := scripts(t, opened)
	defer s.Queue.AddApprover()()
	if err := os.WriteFile(filepath.Join(work, "run.sh"), []byte(strings.Repeat("#", 2<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, q := askedAbout(t, s)
	for _, f := range q.Inputs.Files {
		if len(f.Content) > 64<<10 {
			t.Errorf("the question holds %d bytes of %s", len(f.Content), f.Path)
		}
	}
	approveUnchanged(t, s, q)
	if end := c.End(t); end.Code != 0 {
		t.Errorf("the call ended with %+v", end)
	}
}
