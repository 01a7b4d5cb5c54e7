// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A session that has as many calls as it may refuses one more, and has room again when one
// has ended.
func TestLimitCalls(t *testing.T) {
	s, _ := calltest.NewServer(t)
	s.Limits.Adjust(limit.Limits{limit.Calls: 1})
	first := calltest.Dial(t, s)
	first.Exec(t, wire.FDPipe, "sh", "-c", "read x; exit 3")
	first.Read(t, wire.KindStarted)
	second := calltest.Dial(t, s)
	second.Exec(t, wire.FDNull, "sh", "-c", "exit 4")
	if e := second.End(t); e.Outcome != wire.Refused || e.Code != 126 || !strings.Contains(e.Text, "sh: refused: limit of 1 for calls in flight (limits.calls)") {
		t.Errorf("a second call: %+v", e)
	}
	first.Send(t, wire.KindStdin, []byte("go\n"))
	if e := first.End(t); e.Code != 3 {
		t.Errorf("the first call: %+v", e)
	}
	third := calltest.Dial(t, s)
	third.Exec(t, wire.FDNull, "sh", "-c", "exit 5")
	if e := third.End(t); e.Code != 5 {
		t.Errorf("a call when the first has ended: %+v", e)
	}
}

// A request for which there is no memory is refused by its name, and a connection that only
// announces one holds next to nothing. All is given back.
func TestLimitArgv(t *testing.T) {
	s, _ := calltest.NewServer(t)
	s.Limits.Adjust(limit.Limits{limit.Argv: 256 << 10})
	long := calltest.Dial(t, s)
	long.Exec(t, wire.FDNull, "sh", "-c", "exit 3", strings.Repeat("x", 1<<20))
	if e := long.End(t); e.Code != 126 || !strings.Contains(e.Text, "sh: refused: limit of 256 KiB for arguments of calls in flight (limits.argv)") {
		t.Errorf("a megabyte of arguments: %+v", e)
	}
	many := calltest.Dial(t, s)
	many.Exec(t, wire.FDNull, append([]string{"sh"}, make([]string, 20000)...)...)
	if e := many.End(t); e.Code != 126 || !strings.Contains(e.Text, "limits.argv") {
		t.Errorf("20000 empty arguments: %+v", e)
	}
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	// ends when ours is closed.
	go func() { served <- s.Serve(context.Background(), context.Background(), theirs) }()
	head := wire.AppendHeader(nil, wire.KindExec, wire.MaxExec)
	if _, err := ours.Write(head); err != nil {
		t.Fatal(err)
	}
	if n := s.Limits.Held(limit.Argv); n > call.Chunk {
		t.Errorf("%d bytes are held for a request of which nothing has come", n)
	}
	ours.Close()
	<-served
	short := calltest.Dial(t, s)
	short.Exec(t, wire.FDNull, "sh", "-c", "exit 5")
	if e := short.End(t); e.Code != 5 {
		t.Errorf("a short call: %+v", e)
	}
	exectest.Eventually(t, "all is given back", func() bool { return s.Limits.Held(limit.Argv) == 0 && s.Limits.Held(limit.Calls) == 0 })
}

// A request of which nothing could be read is refused without a name. Its caller was told that "." is refused.
func TestLimitArgvNoName(t *testing.T) {
	s, log := calltest.NewServer(t)
	s.Limits.Adjust(limit.Limits{limit.Argv: 1})
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "exit 3")
	if e := c.End(t); e.Code != 126 || !strings.HasPrefix(e.Text, "hostexec: refused: limit of ") {
		t.Errorf("without memory: %+v", e)
	}
	lines := calltest.Audited(t, log, "HOSTEXEC DENY")
	if len(lines) != 1 || !strings.Contains(lines[0], ` cmd="" `) {
		t.Fatalf("the audit log has %q", lines)
	}
	if _, err := audit.Parse(strings.TrimSuffix(lines[0], "\n")); err != nil {
		t.Error(err)
	}
}

// Processes of a call that was ended for their number do not have the next call refused.
func TestLimitProcesses(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDPipe, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo all; wait")
	c.Read(t, wire.KindStarted)
	c.Read(t, wire.KindStdout)
	s.Limits.Adjust(limit.Limits{limit.Processes: 5})
	if n := call.CountProcesses(s); n > 0 {
		t.Errorf("%d processes are left of a call that had too many", n)
	}
	if err := call.TooManyProcesses(s); err != nil {
		t.Errorf("the next call is refused: %v", err)
	}
	if e := c.End(t); e.Code != 125 || !strings.Contains(e.Text, "sh: ended: limit of 5 for processes of a session (limits.processes)") {
		t.Errorf("a call with ten processes: %+v", e)
	}
}

// TestLimitHiddenProcesses checks that processes count, and end, although they have changed the variable that says to
// which call they belong.
func TestLimitHiddenProcesses(t *testing.T) {
	for name, variables := range map[string]string{"none": "-i", "the session's": proctree.Marker + "=SESSION", "another call's": proctree.Marker + "=0123456789abcdef"} {
		t.Run(name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			variables := strings.ReplaceAll(variables, "SESSION", s.Config().Session)
			c := calltest.Dial(t, s)
			c.Exec(t, wire.FDNull, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do (env "+variables+" sleep 1000 &) done")
			if e := c.End(t); e.Code != 0 {
				t.Fatalf("the call: %+v", e)
			}
			s.Limits.Adjust(limit.Limits{limit.Processes: 1000})
			exectest.Eventually(t, "all are one tree", func() bool { all := proctree.Sizes(); return len(all) == 1 && all[0].Count == 9 })
			if n := call.CountProcesses(s); n != 9 {
				t.Errorf("%d processes count, want 9", n)
			}
			s.Limits.Adjust(limit.Limits{limit.Processes: 5})
			if n := call.CountProcesses(s); n > 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

// TestLimitProcessesOfAgent checks that processes of a call count, and end, although they claim to belong to the agent
// of the session. The agent's own processes do not count, and continue.
func TestLimitProcessesOfAgent(t *testing.T) {
	s, _ := calltest.NewServer(t)
	sc := *s.Config()
	sc.Session = "0123456789ab"
	s.SetConfig(&sc)
	startAgent(t, s)
	tree := func(count, claimed int) func() bool {
		return func() bool {
			return slices.Equal(proctree.Sizes(), []proctree.Size{{ID: sc.Session, Count: count, Claimed: claimed}})
		}
	}
	exectest.Eventually(t, "the agent and its orphan run", tree(2, 0))
	if n := call.CountProcesses(s); n != 0 {
		t.Errorf("%d processes count, of which all are the agent's", n)
	}
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do (env "+proctree.Marker+"="+sc.Session+" sleep 1000 &) done")
	if e := c.End(t); e.Code != 0 {
		t.Fatalf("the call: %+v", e)
	}
	exectest.Eventually(t, "the orphans of the call claim to belong to the agent", tree(11, 9))
	if n := call.CountProcesses(s); n != 9 {
		t.Errorf("%d processes count, want 9", n)
	}
	s.Limits.Adjust(limit.Limits{limit.Processes: 5})
	if n := call.CountProcesses(s); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	exectest.Eventually(t, "only the agent and its orphan run", tree(2, 0))
}

// startAgent starts a process with the ID of the session, which leaves an orphan in its POSIX session. It runs until the
// test ends.
func startAgent(t *testing.T, s *call.Server) {
	t.Helper()
	at, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	ctx, cancel := context.WithCancel(context.Background())
	started, ended := make(chan bool, 1), make(chan error, 1)
	// ends with ctx.
	go func() {
		_, err := s.Runner.Run(ctx, executor.Command{
			ID: s.Config().Session, Path: "/bin/sh", Args: []string{"sh", "-c", "(sleep 1000 &); exec sleep 1000"}, Env: os.Environ(), Dir: int(at.Fd()),
		}, executor.Streams{FD: [3]int{-1, -1, -1}, Started: func(int) { started <- true }})
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-started:
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
}

// A job is a call in flight until it ends, and can be ended in a session that is full of them.
func TestLimitJob(t *testing.T) {
	s, _ := calltest.NewServer(t)
	s.Limits.Adjust(limit.Limits{limit.Calls: 1})
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "hostexec", "-d", "sh", "-c", "exec sleep 1000")
	if e := c.End(t); e.Code != 0 {
		t.Fatalf("a job: %+v", e)
	}
	if n := s.Limits.Held(limit.Calls); n != 1 {
		t.Errorf("%d calls are held by a job, want 1", n)
	}
	ps := calltest.Dial(t, s)
	ps.Exec(t, wire.FDNull, "hostexec", "kill", "--all")
	if e := ps.End(t); e.Code != 0 {
		t.Errorf("kill in a full session: %+v", e)
	}
	exectest.Eventually(t, "the job gives back what it held", func() bool { return s.Limits.Held(limit.Calls) == 0 })
}

// Refusals beyond the rate have no record of their own; their number is written, and what runs
// has all of its records.
//
// Attack 132.
func TestRefusalsAreCounted(t *testing.T) {
	s, log := calltest.NewServer(t)
	s.AdjustRefusals(1) // ten at once
	const calls = 40
	ended := make(chan wire.Exit, calls)
	for i := range calls {
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDNull, "rm", fmt.Sprint(i))
		// ends with its call.
		go func() { ended <- c.End(t) }()
	}
	for range calls {
		if e := <-ended; e.Code != 126 {
			t.Errorf("a refused call: %+v", e)
		}
	}
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "exit 3")
	c.End(t)
	call.SumRefusals(s)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	kinds, counted := map[audit.Kind]int{}, 0
	for line := range strings.Lines(string(text)) {
		e, err := audit.Parse(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
		counted += e.Count
	}
	if kinds[audit.Deny]+counted != calls || kinds[audit.Deny] > 20 || kinds[audit.Refusals] == 0 {
		t.Errorf("%d refusals are written, %d are counted, of %d", kinds[audit.Deny], counted, calls)
	}
	if kinds[audit.Start] != 1 || kinds[audit.Complete] != 1 || kinds[audit.AutoApprove] != 1 {
		t.Errorf("what ran has the records %v", kinds)
	}
}
