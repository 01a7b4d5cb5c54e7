// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestJob checks that a job continues without its caller, and that its output, status and audit lines are there later.
func TestJob(t *testing.T) {
	s, log := calltest.NewServer(t)
	go2 := filepath.Join(t.TempDir(), "go")
	if err := calltest.MakeFIFO(go2); err != nil {
		t.Fatal(err)
	}
	id := calltest.Background(t, s, "sh", "-c", "echo out; echo err >&2; read x; echo stdin=$x; cat "+go2+"; exit 3")
	if got := calltest.InfoOf(t, s, id).Status; got != job.Running {
		t.Errorf("status = %s", got)
	}
	if c := calltest.Hostexec(t, s, "ps"); !strings.Contains(c.Out.String(), id+"   job    running   -") {
		t.Errorf("ps:\n%s", c.Out.String())
	}
	if err := os.WriteFile(go2, []byte("went on"), 0); err != nil {
		t.Fatal(err)
	}
	if c := calltest.Hostexec(t, s, "wait", id[:8]); c.Exit.Code != 3 || c.Exit.Outcome != wire.Exited {
		t.Errorf("wait = %+v", c.Exit)
	}
	for _, tt := range []struct {
		words    []string
		out, err string
	}{
		{[]string{"logs", id}, "out\nstdin=\nwent on", "err\n"},
		{[]string{"logs", "-f", id}, "out\nstdin=\nwent on", "err\n"},
	} {
		c := calltest.Hostexec(t, s, tt.words...)
		if c.Out.String() != tt.out || c.Err.String() != tt.err || c.Exit.Code != 0 {
			t.Errorf("%q: stdout %q, stderr %q, %+v", tt.words, c.Out.String(), c.Err.String(), c.Exit)
		}
	}
	raw := calltest.Hostexec(t, s, "logs", "--raw", "--combined", id).Out.String()
	if !strings.Contains(raw, "\x01\x01\x01out\n") || !strings.Contains(raw, "\x02\x02\x02err\n") {
		t.Errorf("raw = %q", raw)
	}
	if both := calltest.Hostexec(t, s, "logs", "--combined", id).Out.String(); len(both) != len("out\nstdin=\nwent onerr\n") {
		t.Errorf("combined = %q", both)
	}
	if n := len(calltest.Audited(t, log, id)); n != 3 {
		t.Errorf("the log has %d lines of it, want AUTO_APPROVE, START and COMPLETE", n)
	}
	if lines := calltest.Audited(t, log, "HOSTEXEC COMPLETE"); len(lines) != 1 || !strings.Contains(lines[0], "exit=3") {
		t.Errorf("COMPLETE: %q", lines)
	}
}

// TestJobKill checks that kill ends a job's whole process tree, in any session and group, and that kill -s only sends the
// signal.
func TestJobKill(t *testing.T) {
	s, _ := calltest.NewServer(t)
	hold, gone := calltest.Alive(t)
	id := calltest.Background(t, s, "--wait-for-log", "up", "sh", "-c", hold+"(setsid sleep 1000 &); (trap '' HUP; sleep 1000) & echo up; wait")
	usr1 := calltest.Background(t, s, "--wait-for-log", "up", "sh", "-c", "trap 'echo got; exit 5' USR1; echo up; while :; do sleep 0.01; done")
	if c := calltest.Hostexec(t, s, "kill", "-s", "sigusr1", usr1); c.Out.String() != usr1+"\n" || c.Exit.Code != 0 {
		t.Errorf("kill -s: %q, %+v", c.Out.String(), c.Exit)
	}
	if c := calltest.Hostexec(t, s, "wait", usr1); c.Exit.Code != 5 {
		t.Errorf("wait = %+v", c.Exit)
	}
	if c := calltest.Hostexec(t, s, "kill", id, usr1, "f00"); c.Out.String() != id+"\n" || c.Exit.Code != 1 || strings.Count(c.Exit.Text, "\n") != 2 {
		t.Errorf("kill: %q, %+v", c.Out.String(), c.Exit)
	}
	gone()
	if got := calltest.InfoOf(t, s, id).Status; got != job.Killed {
		t.Errorf("status = %s", got)
	}
	some := []string{calltest.Background(t, s, "sh", "-c", "exec sleep 1000"), calltest.Background(t, s, "sh", "-c", "exec sleep 1000")}
	if c := calltest.Hostexec(t, s, "kill", "--all"); c.Exit.Code != 0 || strings.Count(c.Out.String(), "\n") != 2 {
		t.Errorf("kill --all: %q, %+v", c.Out.String(), c.Exit)
	}
	for _, id := range some {
		if got := calltest.InfoOf(t, s, id).Status; got != job.Killed {
			t.Errorf("status after kill --all = %s", got)
		}
	}
	if c := calltest.Hostexec(t, s, "kill", "--all"); c.Exit.Code != 0 || c.Out.Len() > 0 {
		t.Errorf("kill --all of none: %q, %+v", c.Out.String(), c.Exit)
	}
}

// TestJobBadInput checks that invalid arguments get a message of one line, and leave no job.
func TestJobBadInput(t *testing.T) {
	s, log := calltest.NewServer(t)
	two := []string{calltest.Background(t, s, "sh", "-c", "exit 0"), calltest.Background(t, s, "sh", "-c", "exit 0")}
	calltest.Hostexec(t, s, "wait", two[0], two[1])
	before := len(calltest.Audited(t, log, ""))
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
		c := calltest.Hostexec(t, s, tt.words...)
		if c.Exit.Code != tt.code || !strings.Contains(c.Exit.Text, tt.text) || strings.Count(c.Exit.Text, "\n") != 1 || c.Out.Len() > 0 {
			t.Errorf("%.60q: code %d, text %q, stdout %q, want %d and one line with %q", tt.words, c.Exit.Code, c.Exit.Text, c.Out.String(), tt.code, tt.text)
		}
	}
	for _, words := range [][]string{{"-d", "rm", "x"}, {"-d", "id"}, {"-d", "lost"}, {"-d", "passwd"}, {"-d", "git"}} {
		c, plain := calltest.Hostexec(t, s, words...), calltest.Hostexec(t, s, words[1:]...)
		if c.Exit.Code != plain.Exit.Code || c.Exit.Outcome != plain.Exit.Outcome || c.Out.Len() > 0 {
			t.Errorf("%q: %+v, and as a call %+v", words, c.Exit, plain.Exit)
		}
	}
	if n := len(s.Jobs.All()); n != 2 {
		t.Errorf("%d jobs, want the two", n)
	}
	if n := len(calltest.Audited(t, log, "")); n == before {
		t.Error("what was refused is not in the log")
	}
}
