// SPDX-License-Identifier: Apache-2.0

package call

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Hostexec has a caller say words to hostexec, and returns it when it was answered.
func Hostexec(t *testing.T, s *Server, words ...string) *Caller {
	t.Helper()
	c := Dial(t, s)
	c.Exec(t, wire.FDNull, append([]string{"hostexec"}, words...)...)
	c.Read(t, wire.KindExit)
	return c
}

// Background starts a job and returns its id.
func Background(t *testing.T, s *Server, words ...string) string {
	t.Helper()
	c := Hostexec(t, s, append([]string{"-d"}, words...)...)
	var id, pid string
	if id, pid, _ = strings.Cut(strings.TrimSuffix(c.Out.String(), "\n"), " "); len(id) != 16 || c.Exit.Code != 0 {
		t.Fatalf("hostexec -d %q: stdout %q, exit %+v", words, c.Out.String(), c.Exit)
	}
	if n, err := strconv.Atoi(pid); err != nil || n < 2 {
		t.Fatalf("hostexec -d %q: pid %q", words, pid)
	}
	return id
}

func InfoOf(t *testing.T, s *Server, id string) job.Info {
	t.Helper()
	kept, err := s.Jobs.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return kept.Info()
}

// Alive makes a FIFO and returns what a script says to hold its write end, and what returns
// when all that do have ended.
func Alive(t *testing.T) (hold string, gone func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := MakeFIFO(fifo); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0) // so that a writer does not wait for this
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return "exec 3>" + fifo + "; ", func() {
		t.Helper()
		if n, err := f.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read = %d, %v, want EOF: somebody still has the pipe", n, err)
		}
	}
}

// A job goes on when its caller has gone, and what it wrote and how it ended are there for
// who asks; the audit log has it as any call.
func TestJob(t *testing.T) {
	s, log := Scene(t)
	go2 := filepath.Join(t.TempDir(), "go")
	if err := MakeFIFO(go2); err != nil {
		t.Fatal(err)
	}
	id := Background(t, s, "sh", "-c", "echo out; echo err >&2; read x; echo stdin=$x; cat "+go2+"; exit 3")
	if got := InfoOf(t, s, id).Status; got != job.Running {
		t.Errorf("status = %s", got)
	}
	if c := Hostexec(t, s, "ps"); !strings.Contains(c.Out.String(), id+"   job    running   -") {
		t.Errorf("ps:\n%s", c.Out.String())
	}
	if err := os.WriteFile(go2, []byte("went on"), 0); err != nil {
		t.Fatal(err)
	}
	if c := Hostexec(t, s, "wait", id[:8]); c.Exit.Code != 3 || c.Exit.Outcome != wire.Exited {
		t.Errorf("wait = %+v", c.Exit)
	}
	for _, tt := range []struct {
		words    []string
		out, err string
	}{
		{[]string{"logs", id}, "out\nstdin=\nwent on", "err\n"},
		{[]string{"logs", "-f", id}, "out\nstdin=\nwent on", "err\n"},
	} {
		c := Hostexec(t, s, tt.words...)
		if c.Out.String() != tt.out || c.Err.String() != tt.err || c.Exit.Code != 0 {
			t.Errorf("%q: stdout %q, stderr %q, %+v", tt.words, c.Out.String(), c.Err.String(), c.Exit)
		}
	}
	raw := Hostexec(t, s, "logs", "--raw", "--combined", id).Out.String()
	if !strings.Contains(raw, "\x01\x01\x01out\n") || !strings.Contains(raw, "\x02\x02\x02err\n") {
		t.Errorf("raw = %q", raw)
	}
	if both := Hostexec(t, s, "logs", "--combined", id).Out.String(); len(both) != len("out\nstdin=\nwent onerr\n") {
		t.Errorf("combined = %q", both)
	}
	if n := len(Audited(t, log, id)); n != 3 {
		t.Errorf("the log has %d lines of it, want AUTO_APPROVE, START and COMPLETE", n)
	}
	if lines := Audited(t, log, "HOSTEXEC COMPLETE"); len(lines) != 1 || !strings.Contains(lines[0], "exit=3") {
		t.Errorf("COMPLETE: %q", lines)
	}
}

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
			s, _ := Scene(t)
			id := Background(t, s, tt.args...)
			c := Hostexec(t, s, "wait", id)
			if c.Exit.Outcome != wire.Exited || c.Exit.Code != tt.code {
				t.Errorf("wait = %+v, want %d", c.Exit, tt.code)
			}
			if got := InfoOf(t, s, id); got.Status != tt.status || got.Code != int(tt.code) {
				t.Errorf("%+v, want %s", got, tt.status)
			}
		})
	}
}

// kill ends a job's whole tree, of whatever session and group its members are; with a signal
// it sends that.
func TestJobKill(t *testing.T) {
	s, _ := Scene(t)
	hold, gone := Alive(t)
	id := Background(t, s, "--wait-for-log", "up", "sh", "-c", hold+"(setsid sleep 1000 &); (trap '' HUP; sleep 1000) & echo up; wait")
	usr1 := Background(t, s, "--wait-for-log", "up", "sh", "-c", "trap 'echo got; exit 5' USR1; echo up; while :; do sleep 0.01; done")
	if c := Hostexec(t, s, "kill", "-s", "sigusr1", usr1); c.Out.String() != usr1+"\n" || c.Exit.Code != 0 {
		t.Errorf("kill -s: %q, %+v", c.Out.String(), c.Exit)
	}
	if c := Hostexec(t, s, "wait", usr1); c.Exit.Code != 5 {
		t.Errorf("wait = %+v", c.Exit)
	}
	if c := Hostexec(t, s, "kill", id, usr1, "f00"); c.Out.String() != id+"\n" || c.Exit.Code != 1 || strings.Count(c.Exit.Text, "\n") != 2 {
		t.Errorf("kill: %q, %+v", c.Out.String(), c.Exit)
	}
	gone()
	if got := InfoOf(t, s, id).Status; got != job.Killed {
		t.Errorf("status = %s", got)
	}
	some := []string{Background(t, s, "sh", "-c", "exec sleep 1000"), Background(t, s, "sh", "-c", "exec sleep 1000")}
	if c := Hostexec(t, s, "kill", "--all"); c.Exit.Code != 0 || strings.Count(c.Out.String(), "\n") != 2 {
		t.Errorf("kill --all: %q, %+v", c.Out.String(), c.Exit)
	}
	for _, id := range some {
		if got := InfoOf(t, s, id).Status; got != job.Killed {
			t.Errorf("status after kill --all = %s", got)
		}
	}
	if c := Hostexec(t, s, "kill", "--all"); c.Exit.Code != 0 || c.Out.Len() > 0 {
		t.Errorf("kill --all of none: %q, %+v", c.Out.String(), c.Exit)
	}
}

// What is wrong is said in one line, and nothing is left of it.
func TestJobBadInput(t *testing.T) {
	s, log := Scene(t)
	two := []string{Background(t, s, "sh", "-c", "exit 0"), Background(t, s, "sh", "-c", "exit 0")}
	Hostexec(t, s, "wait", two[0], two[1])
	before := len(Audited(t, log, ""))
	for _, tt := range []struct {
		words []string
		code  byte
		text  string // part of
	}{
		{[]string{"-d"}, 125, "-d wants a command"},
		{[]string{"-d", "--"}, 125, "-d wants a command"},
		{[]string{"-d", ""}, 125, "empty"},
		{[]string{"-d", "--bogus", "sh"}, 125, "unknown flag"},
		{[]string{"--keep", "sh"}, 125, "is for a job"},
		{[]string{"--wait-for-log", "x", "sh"}, 125, "is for a job"},
		{[]string{"-d", "--wait-for-log", "(", "sh"}, 125, "missing closing"},
		{[]string{"-d", "--wait-for-log", "", "sh"}, 125, "1 to 1024 bytes"},
		{[]string{"-d", "--wait-for-log", strings.Repeat("[^a]{900}", 99), "sh"}, 125, "repeats too much"},
		{[]string{"-d", "--wait-for-port", "0", "sh"}, 125, "1 to 65535"},
		{[]string{"-d", "--wait-for-port", "65536", "sh"}, 125, "1 to 65535"},
		{[]string{"-d", "--wait-for-port", "http", "sh"}, 125, "1 to 65535"},
		{[]string{"-d", "--wait-timeout", "0", "sh"}, 125, "want a time"},
		{[]string{"--timeout", "-1s", "sh"}, 125, "want a time"},
		{[]string{"--timeout", "", "sh"}, 125, "want a time"},
		{[]string{"--timeout"}, 125, "needs an argument"},
		{[]string{"logs"}, 125, "one job"},
		{[]string{"logs", ""}, 125, `no such job: ""`},
		{[]string{"logs", "zz\x1b[2J"}, 125, `no such job: "zz\x1b[2J"`},
		{[]string{"logs", two[0], two[1]}, 125, "one job"},
		{[]string{"logs", "--bogus", two[0]}, 125, "unknown flag"},
		{[]string{"wait"}, 125, "wants a job"},
		{[]string{"wait", two[0], "f00"}, 125, "no such job: f00"},
		{[]string{"kill"}, 125, "wants an id"},
		{[]string{"kill", "-s", "BOGUS", two[0]}, 125, "not a signal: BOGUS"},
		{[]string{"kill", "-s", "", two[0]}, 125, "not a signal"},
		{[]string{"kill", "--all", two[0]}, 125, "or --all"},
		{[]string{"kill", two[0]}, 1, "it has ended"},
		{[]string{"kill", "../" + two[0]}, 1, "no such job"},
		{[]string{"ps", "x"}, 125, "only --json"},
	} {
		c := Hostexec(t, s, tt.words...)
		if c.Exit.Code != tt.code || !strings.Contains(c.Exit.Text, tt.text) || strings.Count(c.Exit.Text, "\n") != 1 || c.Out.Len() > 0 {
			t.Errorf("%.60q: code %d, text %q, stdout %q, want %d and one line with %q", tt.words, c.Exit.Code, c.Exit.Text, c.Out.String(), tt.code, tt.text)
		}
	}
	for _, words := range [][]string{{"-d", "rm", "x"}, {"-d", "id"}, {"-d", "lost"}, {"-d", "passwd"}, {"-d", "git"}} {
		c, plain := Hostexec(t, s, words...), Hostexec(t, s, words[1:]...)
		if c.Exit.Code != plain.Exit.Code || c.Exit.Outcome != plain.Exit.Outcome || c.Out.Len() > 0 {
			t.Errorf("%q: %+v, and as a call %+v", words, c.Exit, plain.Exit)
		}
	}
	if n := len(s.Jobs.All()); n != 2 {
		t.Errorf("%d jobs, want the two", n)
	}
	if n := len(Audited(t, log, "")); n == before {
		t.Error("what was refused is not in the log")
	}
}

// Two jobs' ids may begin alike.
func TestJobAmbiguous(t *testing.T) {
	s, _ := Scene(t)
	for _, id := range []string{"00aa000000000000", "00ab000000000000"} {
		if _, err := s.Jobs.Begin(id, []string{"sh"}, "/", false); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range []string{"logs", "wait", "kill"} {
		if c := Hostexec(t, s, verb, "00a"); !strings.Contains(c.Exit.Text, "00a is the beginning of 2 ") {
			t.Errorf("%s: %q", verb, c.Exit.Text)
		}
	}
	// A call may begin as a job does, too.
	s.running.set(Running{Request: "00b0000000000000"}, nil)
	if c := Hostexec(t, s, "kill", "00"); !strings.Contains(c.Exit.Text, "00 is the beginning of 3 ids") {
		t.Errorf("kill: %q", c.Exit.Text)
	}
	s.running.set(Running{Request: "00aac00000000000"}, nil)
	if c := Hostexec(t, s, "kill", "00aa"); !strings.Contains(c.Exit.Text, "00aa is the beginning of 2 ids") {
		t.Errorf("kill of a job or a call: %q", c.Exit.Text)
	}
}

// Who is asked about a job sees that it is one, and it starts when the answer is yes.
func TestJobAsked(t *testing.T) {
	s, _ := Scene(t)
	defer s.Queue.AddWatcher()()
	changed := s.Queue.Changed()
	c := Dial(t, s)
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
	s, _ := Scene(t)
	auto, err := policy.ParsePattern("^sh -c ")
	if err != nil {
		t.Fatal(err)
	}
	sc, limit := *s.State(), int64(100)
	sc.Policy = &policy.Policy{Auto: []policy.Pattern{auto}, Defaults: policy.Settings{Output: &limit}}
	sc.Find = func(string) (string, bool) { return "/bin/sh", true }
	s.SetState(&sc)
	id := Background(t, s, "sh", "-c", "while :; do echo 0123456789; done")
	if c := Hostexec(t, s, "wait", id); c.Exit.Code != 125 {
		t.Errorf("wait = %+v", c.Exit)
	}
	if got := InfoOf(t, s, id); got.Status != job.Error || got.Stdout != limit || !strings.Contains(got.Reason, "cut after 100 bytes") {
		t.Errorf("%+v", got)
	}
}

// oneAnswerConn is a connection whose caller gets one answer.
type oneAnswerConn struct{ net.Conn }

func (oneAnswerConn) OneAnswer() string { return "TEST" }

// TestOneAnswer has a caller that gets one answer start jobs, ask for them, and make shells, in
// every way of writing: none of them is there for it, and nothing runs.
//
// Attack 220.
func TestOneAnswer(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, tt := range []struct {
		args   string
		status wire.Outcome
		says   string
	}{
		{"hostexec -d sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"/run/hostexec/bin/hostexec -d sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec --detach sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec --detach=true sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec -d=true sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec --timeout 5s -d sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec --keep -d -- sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec --wait-for-log x -d sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec --timeout 5s sh -c >" + ran, wire.Failed, "not there over TEST"},
		{"hostexec ps", wire.Failed, "hostexec ps is not there over TEST"},
		{"hostexec logs x", wire.Failed, "hostexec logs is not there"},
		{"hostexec wait x", wire.Failed, "hostexec wait is not there"},
		{"hostexec kill --all", wire.Failed, "hostexec kill is not there"},
		{"hostexec session create x", wire.Failed, "hostexec session is not there"},
		{"hostexec -- hostexec -d sh -c >" + ran, wire.Refused, "not a proxied command"},
		{"hostexec hostexec -d sh -c >" + ran, wire.Refused, "not a proxied command"},
		{"hostexec ls", wire.Exited, ""},
		{"hostexec sh -c true", wire.Exited, ""},
		{"hostexec -- sh -c true", wire.Exited, ""},
	} {
		s, _ := Scene(t)
		ours, theirs := net.Pipe()
		var wg sync.WaitGroup
		// ends when ours is closed.
		wg.Go(func() { s.Serve(t.Context(), t.Context(), oneAnswerConn{theirs}) })
		c := &Caller{Conn: ours, Cwd: "/"}
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
