// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A caller's own time limit holds for the whole call. The output up to then arrives, the process tree ends, and the
// code is 124, even if a process holds the pipe.
//
// Attacks 35, 142, 153.
func TestTimeout(t *testing.T) {
	s, log := calltest.NewServer(t)
	for _, words := range [][]string{{"hostexec", "--timeout", "1200ms"}, {"hostexec", "--timeout=1.2"}, nil} {
		hold, gone := calltest.Alive(t)
		c := calltest.Dial(t, s)
		c.Env = []string{"HOSTEXEC_TIMEOUT=100000"}
		if words == nil {
			c.Env = []string{"HOSTEXEC_TIMEOUT=1.2"}
		}
		begin := time.Now()
		c.Exec(t, wire.FDNull, append(words, "sh", "-c", hold+"echo partial; setsid sleep 1000 & sleep 1000")...)
		c.Read(t, wire.KindExit)
		if c.Exit.Outcome != wire.TimedOut || c.Exit.Code != 124 || c.Out.String() != "partial\n" || !strings.Contains(c.Exit.Text, "timeout") {
			t.Errorf("%q: stdout %q, %+v", words, c.Out.String(), c.Exit)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%q took %s", words, took)
		}
		gone()
	}
	// Who waits for a person has no more time than that, either.
	defer s.Queue.AddApprover()()
	c := calltest.Hostexec(t, s, "--timeout", "50ms", "git")
	if c.Exit.Outcome != wire.TimedOut || c.Exit.Code != 124 || len(s.Queue.Pending()) > 0 {
		t.Errorf("while it is asked: %+v", c.Exit)
	}
	if n := len(calltest.Audited(t, log, "HOSTEXEC TIMEOUT")); n != 1 {
		t.Errorf("%d TIMEOUT lines", n)
	}
	for _, env := range []string{"HOSTEXEC_TIMEOUT=0", "HOSTEXEC_TIMEOUT=0.0", "HOSTEXEC_TIMEOUT=0.00h", "HOSTEXEC_TIMEOUT=", "HOSTEXEC_TIMEOUT=1h"} {
		c := calltest.Dial(t, s)
		c.Env = []string{env}
		c.Exec(t, wire.FDNull, "sh", "-c", "exit 0")
		if c.Read(t, wire.KindExit); c.Exit.Code != 0 {
			t.Errorf("%s: %+v", env, c.Exit)
		}
	}
	// A time that is rounded to 0 must not mean that there is no limit.
	for _, env := range []string{"HOSTEXEC_TIMEOUT=soon", "HOSTEXEC_TIMEOUT=0.0000000001", "HOSTEXEC_TIMEOUT=0.0000000001s", "HOSTEXEC_TIMEOUT=1e-400"} {
		c = calltest.Dial(t, s)
		c.Env = []string{env}
		c.Exec(t, wire.FDNull, "sh", "-c", "exit 0")
		if c.Read(t, wire.KindExit); c.Exit.Code != 125 || !strings.Contains(c.Exit.Text, "HOSTEXEC_TIMEOUT: want a time") {
			t.Errorf("%s: %+v", env, c.Exit)
		}
	}
}

// TestTimeoutOfDeaf checks that the caller of a command that ignores TERM is answered before the command has ended. The
// command ends later, and its end is recorded.
func TestTimeoutOfDeaf(t *testing.T) {
	s, log := calltest.NewServer(t)
	s.Runner.(*executor.Host).Grace = time.Minute
	hold, gone := calltest.Alive(t)
	stop := filepath.Join(t.TempDir(), "stop")
	c := calltest.Dial(t, s)
	c.Env = []string{"HOSTEXEC_TIMEOUT=200ms"}
	c.Exec(t, wire.FDNull, "sh", "-c", hold+"trap : TERM; until [ -e "+stop+" ]; do sleep 0.01; done; exit 3")
	c.Read(t, wire.KindExit)
	if c.Exit.Outcome != wire.TimedOut || c.Exit.Code != 124 || !strings.Contains(c.Exit.Text, "timeout") {
		t.Errorf("%+v", c.Exit)
	}
	if n := len(calltest.Audited(t, log, "HOSTEXEC COMPLETE")); n != 0 {
		t.Errorf("%d COMPLETE lines while the command runs", n)
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Conn.Close()
	gone()
	exectest.Eventually(t, "the end is recorded", func() bool { return len(calltest.Audited(t, log, "exit=124")) == 1 })
}

// A caller's patience with a person ends the question, and not what runs.
func TestApprovalTimeout(t *testing.T) {
	s, log := calltest.NewServer(t)
	defer s.Queue.AddApprover()()
	c := calltest.Dial(t, s)
	c.Env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=50ms"}
	c.Exec(t, wire.FDNull, "git")
	c.Read(t, wire.KindExit)
	if c.Exit.Outcome != wire.TimedOut || c.Exit.Code != 124 || !strings.Contains(c.Exit.Text, "Command timed out waiting for approval") || len(s.Queue.Pending()) > 0 {
		t.Errorf("a question nobody answers: %+v, %d wait", c.Exit, len(s.Queue.Pending()))
	}
	if n := len(calltest.Audited(t, log, "HOSTEXEC TIMEOUT")); n != 1 || len(calltest.Audited(t, log, "HOSTEXEC CANCEL")) != 0 {
		t.Errorf("%d TIMEOUT lines, want one and no CANCEL", n)
	}
	c = calltest.Dial(t, s)
	c.Env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=1ms"}
	c.Exec(t, wire.FDNull, "sh", "-c", "sleep 0.1; exit 3")
	if c.Read(t, wire.KindExit); c.Exit.Outcome != wire.Exited || c.Exit.Code != 3 {
		t.Errorf("a command that takes longer: %+v", c.Exit)
	}
	c = calltest.Dial(t, s)
	c.Env = []string{"HOSTEXEC_APPROVAL_TIMEOUT=soon"}
	c.Exec(t, wire.FDNull, "sh", "-c", "exit 0")
	if c.Read(t, wire.KindExit); c.Exit.Code != 125 || !strings.Contains(c.Exit.Text, "HOSTEXEC_APPROVAL_TIMEOUT: want a time") {
		t.Errorf("no time: %+v", c.Exit)
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
	s, _ := calltest.NewServer(t)
	ours, theirs := net.Pipe()
	told := &informedConn{Conn: theirs}
	var wg sync.WaitGroup
	// ends when ours is closed.
	wg.Go(func() { s.Serve(t.Context(), t.Context(), told) })
	c := &calltest.Caller{Conn: ours, Cwd: "/"}
	c.Exec(t, wire.FDNull, "sh", "-c", "exit 0")
	c.Read(t, wire.KindExit)
	ours.Close()
	wg.Wait()
	if told.asked || told.pattern != "--proxy sh" {
		t.Errorf("told %v, %q", told.asked, told.pattern)
	}
}
