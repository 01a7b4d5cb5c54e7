// SPDX-License-Identifier: Apache-2.0

// Package calltest has helpers for tests of calls: a server with a few commands, and a caller that
// plays the shim.
package calltest

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Caller stands in for the shim: it sends a request, answers credit, and collects the host's frames.
type Caller struct {
	Conn     net.Conn
	Env      []string
	Cwd      string // / if empty
	Out, Err strings.Builder
	Exit     wire.Exit
	Started  bool
}

// Dial returns a caller whose connection s serves. The test ends after Serve has returned.
func Dial(t *testing.T, s *call.Server) *Caller {
	t.Helper()
	ours, theirs := net.Pipe()
	var wg sync.WaitGroup
	session, end := context.WithCancel(context.Background())
	// ends when ours is closed.
	wg.Go(func() { s.Serve(session, session, theirs) })
	t.Cleanup(func() { end(); ours.Close(); wg.Wait(); s.Wait() })
	return &Caller{Conn: ours, Cwd: "/"}
}

// Send sends a frame.
func (c *Caller) Send(t *testing.T, kind wire.Kind, payload []byte) {
	t.Helper()
	if _, err := c.Conn.Write(wire.AppendFrame(nil, kind, payload)); err != nil {
		t.Fatalf("send %v: %v", kind, err)
	}
}

// Exec sends a request; stdout and stderr are files.
func (c *Caller) Exec(t *testing.T, stdin wire.FD, args ...string) {
	t.Helper()
	m := wire.Exec{FDs: [3]wire.FD{stdin, wire.FDFile, wire.FDFile}, Args: args, Cwd: c.Cwd, Env: c.Env}
	c.Send(t, wire.KindExec, m.Append(nil))
}

// Read takes frames until Exit, or until want has been seen.
func (c *Caller) Read(t *testing.T, want wire.Kind) {
	t.Helper()
	for {
		kind, b, err := wire.ReadFrame(c.Conn, make([]byte, wire.MaxFrame))
		if err != nil {
			t.Fatalf("read frame: %v", err)
		}
		switch kind {
		case wire.KindStdout, wire.KindStderr:
			if kind == wire.KindStdout {
				c.Out.Write(b)
			} else {
				c.Err.Write(b)
			}
			c.Send(t, wire.KindCredit, wire.AppendCredit(nil, uint32(len(b))))
		case wire.KindStarted:
			c.Started = true
		case wire.KindExit:
			if c.Exit, err = wire.ParseExit(b); err != nil {
				t.Fatal(err)
			}
		}
		if kind == want || kind == wire.KindExit {
			return
		}
	}
}

// End returns the Exit of the call.
func (c *Caller) End(t *testing.T) wire.Exit {
	t.Helper()
	c.Read(t, wire.KindExit)
	return c.Exit
}

// Drain reads all remaining frames, for a caller that does not use them.
func (c *Caller) Drain() {
	// ends when the connection does.
	go io.Copy(io.Discard, c.Conn)
}

// Hostexec runs hostexec with args, and returns its caller after the call's end.
func Hostexec(t *testing.T, s *call.Server, args ...string) *Caller {
	t.Helper()
	c := Dial(t, s)
	c.Exec(t, wire.FDNull, append([]string{"hostexec"}, args...)...)
	c.Read(t, wire.KindExit)
	return c
}

// Background starts a job and returns its id.
func Background(t *testing.T, s *call.Server, args ...string) string {
	t.Helper()
	c := Hostexec(t, s, append([]string{"-d"}, args...)...)
	var id, pid string
	if id, pid, _ = strings.Cut(strings.TrimSuffix(c.Out.String(), "\n"), " "); len(id) != 16 || c.Exit.Code != 0 {
		t.Fatalf("hostexec -d %q: stdout %q, exit %+v", args, c.Out.String(), c.Exit)
	}
	if n, err := strconv.Atoi(pid); err != nil || n < 2 {
		t.Fatalf("hostexec -d %q: pid %q", args, pid)
	}
	return id
}

// HostexecSession runs hostexec session with args and a file as stdin, and returns its caller after the call's end.
func HostexecSession(t *testing.T, s *call.Server, args ...string) *Caller {
	t.Helper()
	c := Dial(t, s)
	c.Exec(t, wire.FDFile, append([]string{"hostexec", "session"}, args...)...)
	c.Read(t, wire.KindExit)
	return c
}
