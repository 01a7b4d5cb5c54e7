// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Each end of a job has its word, and wait exits as it did.
func TestJobEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		status job.Status
		code   byte
	}{
		{"exit 0", []string{"sh", "-c", "exit 0"}, job.Completed, 0},
		{"exit 7", []string{"sh", "-c", "exit 7"}, job.Failed, 7},
		{"a signal of its own", []string{"sh", "-c", "kill -USR1 $$"}, job.Failed, 138},
		{"its time", []string{"--timeout", "100ms", "sh", "-c", "sleep 1000 & sleep 1000"}, job.Failed, 124},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			id := calltest.Background(t, s, tt.args...)
			c := calltest.Hostexec(t, s, "wait", id)
			if c.Exit.Outcome != wire.Exited || c.Exit.Code != tt.code {
				t.Errorf("wait = %+v, want %d", c.Exit, tt.code)
			}
			if got := calltest.InfoOf(t, s, id); got.Status != tt.status || got.Code != int(tt.code) {
				t.Errorf("%+v, want %s", got, tt.status)
			}
		})
	}
}

// Two jobs' ids may begin alike.
func TestJobAmbiguous(t *testing.T) {
	s, _ := calltest.NewServer(t)
	for _, id := range []string{"00aa000000000000", "00ab000000000000"} {
		if _, err := s.Jobs.Begin(id, []string{"sh"}, "/", false); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range []string{"logs", "wait", "kill"} {
		if c := calltest.Hostexec(t, s, verb, "00a"); !strings.Contains(c.Exit.Text, "00a is the beginning of 2 ") {
			t.Errorf("%s: %q", verb, c.Exit.Text)
		}
	}
	// A call may begin as a job does, too.
	call.AddRunning(s, "00b0000000000000")
	if c := calltest.Hostexec(t, s, "kill", "00"); !strings.Contains(c.Exit.Text, "00 is the beginning of 3 ids") {
		t.Errorf("kill: %q", c.Exit.Text)
	}
	call.AddRunning(s, "00aac00000000000")
	if c := calltest.Hostexec(t, s, "kill", "00aa"); !strings.Contains(c.Exit.Text, "00aa is the beginning of 2 ids") {
		t.Errorf("kill of a job or a call: %q", c.Exit.Text)
	}
}

// Who is asked about a job sees that it is one, and it starts when the answer is yes.
func TestJobAsked(t *testing.T) {
	s, _ := calltest.NewServer(t)
	defer s.Queue.AddApprover()()
	changed := s.Queue.Changed()
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "hostexec", "-d", "git", "push")
	<-changed
	q := s.Queue.Pending()[0]
	if len(q.Notes) != 1 || !strings.Contains(q.Notes[0], "background") {
		t.Errorf("notes = %q", q.Notes)
	}
	if err := s.Queue.Approve(q.ID, q.Digest(), q.Waiting, "ann"); err != nil {
		t.Fatal(err)
	}
	c.Read(t, wire.KindExit)
	if id, _, _ := strings.Cut(c.Out.String(), " "); c.Exit.Code != 0 || id != q.ID {
		t.Errorf("stdout %q, %+v", c.Out.String(), c.Exit)
	}
}

// What a rule lets write so much is cut there, as a call is.
//
// Attack 141.
func TestJobLimit(t *testing.T) {
	s, _ := calltest.NewServer(t)
	auto, err := policy.ParseLinePattern("^sh -c ")
	if err != nil {
		t.Fatal(err)
	}
	sc, limit := *s.Config(), int64(100)
	sc.Policy = &policy.Policy{Auto: []policy.LinePattern{auto}, Defaults: policy.Settings{Output: &limit}}
	sc.Find = func(string) (string, bool) { return "/bin/sh", true }
	s.SetConfig(&sc)
	id := calltest.Background(t, s, "sh", "-c", "while :; do echo 0123456789; done")
	if c := calltest.Hostexec(t, s, "wait", id); c.Exit.Code != 125 {
		t.Errorf("wait = %+v", c.Exit)
	}
	if got := calltest.InfoOf(t, s, id); got.Status != job.Error || got.Stdout != limit || !strings.Contains(got.Reason, "cut after 100 bytes") {
		t.Errorf("%+v", got)
	}
}

// oneAnswerConn is a connection whose caller gets one answer.
type oneAnswerConn struct{ net.Conn }

func (oneAnswerConn) NonStreamingCarrier() string { return "TEST" }

// TestOneAnswer checks a caller that gets only one answer: in every spelling, jobs and shells are
// refused, and nothing runs.
//
// Attack 220.
func TestOneAnswer(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, tt := range []struct {
		args   string
		status wire.Outcome
		says   string
	}{
		{"hostexec -d sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"/run/hostexec/bin/hostexec -d sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec --detach sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec --detach=true sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec -d=true sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec --timeout 5s -d sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec --keep -d -- sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec --wait-for-log x -d sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec --timeout 5s sh -c >" + ran, wire.Failed, "not work over TEST"},
		{"hostexec ps", wire.Failed, "hostexec ps does not work over TEST"},
		{"hostexec logs x", wire.Failed, "hostexec logs does not work"},
		{"hostexec wait x", wire.Failed, "hostexec wait does not work"},
		{"hostexec kill --all", wire.Failed, "hostexec kill does not work"},
		{"hostexec session create x", wire.Failed, "hostexec session does not work"},
		{"hostexec -- hostexec -d sh -c >" + ran, wire.Refused, "not a proxied command"},
		{"hostexec hostexec -d sh -c >" + ran, wire.Refused, "not a proxied command"},
		{"hostexec ls", wire.Exited, ""},
		{"hostexec sh -c true", wire.Exited, ""},
		{"hostexec -- sh -c true", wire.Exited, ""},
	} {
		s, _ := calltest.NewServer(t)
		ours, theirs := net.Pipe()
		var wg sync.WaitGroup
		// ends when ours is closed.
		wg.Go(func() { s.Serve(t.Context(), t.Context(), oneAnswerConn{theirs}) })
		c := &calltest.Caller{Conn: ours, Cwd: "/"}
		c.Exec(t, wire.FDNull, strings.Split(tt.args, " ")...)
		c.Read(t, wire.KindExit)
		ours.Close()
		wg.Wait()
		if c.Exit.Outcome != tt.status || !strings.Contains(c.Exit.Text, tt.says) {
			t.Errorf("%s: %+v, want outcome %d and %q", tt.args, c.Exit, tt.status, tt.says)
		}
		if n := len(s.Jobs.All()); n != 0 {
			t.Errorf("%s: %d jobs", tt.args, n)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a job ran")
	}
}
