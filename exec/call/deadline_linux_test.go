// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A caller's own time holds for the whole call: what it wrote by then is there, the tree is
// gone, and the code is 124, whoever holds the pipe.
//
// Attacks 35, 142, 153.
func TestTimeout(t *testing.T) {
	s, log := scene(t)
	for _, words := range [][]string{{"hostexec", "--timeout", "1200ms"}, {"hostexec", "--timeout=1.2"}, nil} {
		hold, gone := alive(t)
		c := dial(t, s)
		c.env = []string{"HOSTEXEC_TIMEOUT=100000"}
		if words == nil {
			c.env = []string{"HOSTEXEC_TIMEOUT=1.2"}
		}
		begin := time.Now()
		c.exec(t, wire.FDNull, append(words, "sh", "-c", hold+"echo partial; setsid sleep 1000 & sleep 1000")...)
		c.read(t, wire.KindExit)
		if c.exit.Outcome != wire.TimedOut || c.exit.Code != 124 || c.out.String() != "partial\n" || !strings.Contains(c.exit.Text, "timeout") {
			t.Errorf("%q: stdout %q, %+v", words, c.out.String(), c.exit)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%q took %s", words, took)
		}
		gone()
	}
	// Who waits for a person has no more time than that, either.
	defer s.Queue.AddWatcher()()
	c := hostexec(t, s, "--timeout", "50ms", "git")
	if c.exit.Outcome != wire.TimedOut || c.exit.Code != 124 || len(s.Queue.Pending()) > 0 {
		t.Errorf("while it is asked: %+v", c.exit)
	}
	if n := len(audited(t, log, "HOSTEXEC TIMEOUT")); n != 1 {
		t.Errorf("%d TIMEOUT lines", n)
	}
	for _, env := range []string{"HOSTEXEC_TIMEOUT=0", "HOSTEXEC_TIMEOUT=", "HOSTEXEC_TIMEOUT=1h"} {
		c := dial(t, s)
		c.env = []string{env}
		c.exec(t, wire.FDNull, "sh", "-c", "exit 0")
		if c.read(t, wire.KindExit); c.exit.Code != 0 {
			t.Errorf("%s: %+v", env, c.exit)
		}
	}
	c = dial(t, s)
	c.env = []string{"HOSTEXEC_TIMEOUT=soon"}
	c.exec(t, wire.FDNull, "sh", "-c", "exit 0")
	if c.read(t, wire.KindExit); c.exit.Code != 125 || !strings.Contains(c.exit.Text, "HOSTEXEC_TIMEOUT: want a time") {
		t.Errorf("HOSTEXEC_TIMEOUT=soon: %+v", c.exit)
	}
}

// A caller's patience with a person ends the question, and not what runs.
func TestApprovalTimeout(t *testing.T) {
	s, log := scene(t)
	defer s.Queue.AddWatcher()()
	c := dial(t, s)
	c.env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=50ms"}
	c.exec(t, wire.FDNull, "git")
	c.read(t, wire.KindExit)
	if c.exit.Outcome != wire.TimedOut || c.exit.Code != 124 || !strings.Contains(c.exit.Text, "Command timed out waiting for approval") || len(s.Queue.Pending()) > 0 {
		t.Errorf("a question nobody answers: %+v, %d wait", c.exit, len(s.Queue.Pending()))
	}
	if n := len(audited(t, log, "HOSTEXEC TIMEOUT")); n != 1 || len(audited(t, log, "HOSTEXEC CANCEL")) != 0 {
		t.Errorf("%d TIMEOUT lines, want one and no CANCEL", n)
	}
	c = dial(t, s)
	c.env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=1ms"}
	c.exec(t, wire.FDNull, "sh", "-c", "sleep 0.1; exit 3")
	if c.read(t, wire.KindExit); c.exit.Outcome != wire.Exited || c.exit.Code != 3 {
		t.Errorf("a command that takes longer: %+v", c.exit)
	}
	c = dial(t, s)
	c.env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=soon"}
	c.exec(t, wire.FDNull, "sh", "-c", "exit 0")
	if c.read(t, wire.KindExit); c.exit.Code != 125 || !strings.Contains(c.exit.Text, "HOSTEXEC_APPROVAL_TIMEOUT: want a time") {
		t.Errorf("no time: %+v", c.exit)
	}
}

// informedConn is a connection whose other end wants to know why.
type informedConn struct {
	net.Conn
	asked   bool
	pattern string
}

func (c *informedConn) Decided(asked bool, pattern string) { c.asked, c.pattern = asked, pattern }

// A connection is told by what a command runs, before it does.
func TestDecided(t *testing.T) {
	s, _ := scene(t)
	ours, theirs := net.Pipe()
	told := &informedConn{Conn: theirs}
	var wg sync.WaitGroup
	// ends when ours is closed.
	wg.Go(func() { s.Serve(t.Context(), t.Context(), told) })
	c := &caller{conn: ours, cwd: "/"}
	c.exec(t, wire.FDNull, "sh", "-c", "exit 0")
	c.read(t, wire.KindExit)
	ours.Close()
	wg.Wait()
	if told.asked || told.pattern != "--proxy sh" {
		t.Errorf("told %v, %q", told.asked, told.pattern)
	}
}
