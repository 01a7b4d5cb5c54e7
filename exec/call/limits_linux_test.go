// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A session that has as many calls as it may refuses one more, and has room again when one
// has ended.
func TestLimitCalls(t *testing.T) {
	s, _ := scene(t)
	s.Limits.Adjust(limit.Limits{limit.Calls: 1})
	first := dial(t, s)
	first.exec(t, wire.FDPipe, "sh", "-c", "read x; exit 3")
	first.read(t, wire.KindStarted)
	second := dial(t, s)
	second.exec(t, wire.FDNull, "sh", "-c", "exit 4")
	if e := second.end(t); e.Outcome != wire.Refused || e.Code != 126 || !strings.Contains(e.Text, "sh: refused: limit of 1 for calls in flight (limits.calls)") {
		t.Errorf("a second call: %+v", e)
	}
	first.send(t, wire.KindStdin, []byte("go\n"))
	if e := first.end(t); e.Code != 3 {
		t.Errorf("the first call: %+v", e)
	}
	third := dial(t, s)
	third.exec(t, wire.FDNull, "sh", "-c", "exit 5")
	if e := third.end(t); e.Code != 5 {
		t.Errorf("a call when the first has ended: %+v", e)
	}
}

// A request for which there is no memory is refused by its name, and a connection that only
// announces one holds next to nothing. All is given back.
func TestLimitArgv(t *testing.T) {
	s, _ := scene(t)
	s.Limits.Adjust(limit.Limits{limit.Argv: 256 << 10})
	long := dial(t, s)
	long.exec(t, wire.FDNull, "sh", "-c", "exit 3", strings.Repeat("x", 1<<20))
	if e := long.end(t); e.Code != 126 || !strings.Contains(e.Text, "sh: refused: limit of 256 KiB for arguments of calls in flight (limits.argv)") {
		t.Errorf("a megabyte of arguments: %+v", e)
	}
	many := dial(t, s)
	many.exec(t, wire.FDNull, append([]string{"sh"}, make([]string, 20000)...)...)
	if e := many.end(t); e.Code != 126 || !strings.Contains(e.Text, "limits.argv") {
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
	if n := s.Limits.Held(limit.Argv); n > chunk {
		t.Errorf("%d bytes are held for a request of which nothing has come", n)
	}
	ours.Close()
	<-served
	short := dial(t, s)
	short.exec(t, wire.FDNull, "sh", "-c", "exit 5")
	if e := short.end(t); e.Code != 5 {
		t.Errorf("a short call: %+v", e)
	}
	exectest.Eventually(t, "all is given back", func() bool { return s.Limits.Held(limit.Argv) == 0 && s.Limits.Held(limit.Calls) == 0 })
}

// Processes of a call that was ended for their number do not have the next call refused.
func TestLimitProcesses(t *testing.T) {
	s, _ := scene(t)
	c := dial(t, s)
	c.exec(t, wire.FDPipe, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo all; wait")
	c.read(t, wire.KindStarted)
	c.read(t, wire.KindStdout)
	s.Limits.Adjust(limit.Limits{limit.Processes: 5})
	if n := s.counter.count(s); n > 0 {
		t.Errorf("%d processes are left of a call that had too many", n)
	}
	if err := s.counter.full(); err != nil {
		t.Errorf("the next call is refused: %v", err)
	}
	if e := c.end(t); e.Code != 125 || !strings.Contains(e.Text, "sh: ended: limit of 5 for processes of a session (limits.processes)") {
		t.Errorf("a call with ten processes: %+v", e)
	}
}

// A job is a call in flight until it ends, and can be ended in a session that is full of them.
func TestLimitJob(t *testing.T) {
	s, _ := scene(t)
	s.Limits.Adjust(limit.Limits{limit.Calls: 1})
	c := dial(t, s)
	c.exec(t, wire.FDNull, "hostexec", "-d", "sh", "-c", "exec sleep 1000")
	if e := c.end(t); e.Code != 0 {
		t.Fatalf("a job: %+v", e)
	}
	if n := s.Limits.Held(limit.Calls); n != 1 {
		t.Errorf("%d calls are held by a job, want 1", n)
	}
	ps := dial(t, s)
	ps.exec(t, wire.FDNull, "hostexec", "kill", "--all")
	if e := ps.end(t); e.Code != 0 {
		t.Errorf("kill in a full session: %+v", e)
	}
	exectest.Eventually(t, "the job gives back what it held", func() bool { return s.Limits.Held(limit.Calls) == 0 })
}

// Refusals beyond the rate have no record of their own; their number is written, and what runs
// has all of its records.
//
// Attack 132.
func TestRefusalsAreCounted(t *testing.T) {
	s, log := scene(t)
	s.AdjustRefusals(1) // ten at once
	const calls = 40
	ended := make(chan wire.Exit, calls)
	for i := range calls {
		c := dial(t, s)
		c.exec(t, wire.FDNull, "rm", fmt.Sprint(i))
		// ends with its call.
		go func() { ended <- c.end(t) }()
	}
	for range calls {
		if e := <-ended; e.Code != 126 {
			t.Errorf("a refused call: %+v", e)
		}
	}
	c := dial(t, s)
	c.exec(t, wire.FDNull, "sh", "-c", "exit 3")
	c.end(t)
	s.sumRefusals()
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

// end returns how the call ends.
func (c *caller) end(t *testing.T) wire.Exit {
	t.Helper()
	c.read(t, wire.KindExit)
	return c.exit
}
