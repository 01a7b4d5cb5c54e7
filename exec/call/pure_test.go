// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

func TestEnviron(t *testing.T) {
	host := []string{"PATH=/usr/bin", "HOME=/home/u", "TERM=dumb", "PWD=/elsewhere", "OLDPWD=/x", "TOKEN=secret"}
	caller := []string{
		"TERM=xterm-256color", "TERM=../../evil", "COLUMNS=80", "LINES=many", "PATH=/evil", "LD_PRELOAD=/evil.so",
		"GIT_SSH_COMMAND=evil", "WANTED=a=b", "WANTED=twice", "NO_COLOR=1", "junk", "=x",
	}
	got := environ(host, caller, []string{"WANTED", "ABSENT"}, policy.Env{}, "/work")
	slices.Sort(got)
	want := []string{"COLUMNS=80", "HOME=/home/u", "NO_COLOR=1", "PATH=/usr/bin", "PWD=/work", "TERM=xterm-256color", "TOKEN=secret", "WANTED=a=b"}
	if !slices.Equal(got, want) {
		t.Errorf("environ = %q, want %q", got, want)
	}
	if got := environ(host, []string{"TERM=/etc/terminfo"}, nil, policy.Env{}, "/"); !slices.Contains(got, "TERM=dumb") {
		t.Errorf("a TERM that is a path replaced the host's: %q", got)
	}
	got = environ(append(host, "LC_ALL=C", "GH_TOKEN=t"), nil, nil, policy.Env{Clean: true, Pass: []string{"GH_TOKEN"}, Set: map[string]string{"A": ""}}, "/work")
	slices.Sort(got)
	if want := []string{"A=", "GH_TOKEN=t", "HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin", "PWD=/work"}; !slices.Equal(got, want) {
		t.Errorf("a clean environ = %q, want %q", got, want)
	}
}

// Of a configuration that is broken nothing is said to be allowed.
func TestCommandsOfBrokenPolicy(t *testing.T) {
	p := &policy.Policy{
		Commands: []policy.Command{{Name: "make", Action: policy.Allow}},
		Rules:    map[string]policy.Ruleset{"git": {Rules: []policy.Rule{{ID: "a", Do: policy.Allow}}}},
	}
	for _, tt := range []struct{ broken, make, git string }{{"", "allow", "rules"}, {"line 1", "deny", "deny"}} {
		p.Broken = tt.broken
		got := commands(&Scene{Policy: p})
		if len(got) != 2 || got[0].Action != tt.make || got[1].Action != tt.git {
			t.Errorf("broken %q: ls shows %+v", tt.broken, got)
		}
	}
}

func TestDispositions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fds    [3]wire.FD
		passed [3]int
		want   [3]wire.Disposition
		tty    bool
	}{
		{"pipes", [3]wire.FD{wire.FDPipe, wire.FDPipe, wire.FDSocket}, [3]int{7, 8, 9}, [3]wire.Disposition{wire.Taken, wire.Taken, wire.Taken}, false},
		{"files", [3]wire.FD{wire.FDFile, wire.FDFile, wire.FDOther}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.Pumped, wire.Pumped, wire.Pumped}, false},
		{"terminal", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDTTY}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.PTY, wire.PTY, wire.PTY}, true},
		{"terminal, errors to a file", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDFile}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.PTY, wire.PTY, wire.Pumped}, true},
		{"terminal, errors to nowhere", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDNull}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.PTY, wire.PTY, wire.Null}, true},
		{"make | less", [3]wire.FD{wire.FDTTY, wire.FDPipe, wire.FDTTY}, [3]int{7, 8, 9}, [3]wire.Disposition{wire.Taken, wire.Taken, wire.Taken}, false},
		{"closed", [3]wire.FD{}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.Null, wire.Null, wire.Null}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &request{fds: tt.fds, passed: tt.passed}
			if got := dispositions(req); got != tt.want || req.tty() != tt.tty {
				t.Errorf("dispositions = %v, tty %v, want %v, %v", got, req.tty(), tt.want, tt.tty)
			}
		})
	}
}

func TestInputGrants(t *testing.T) {
	granted := 0
	in := newInput(func(n int) { granted += n })
	chunk := make([]byte, wire.MaxFrame)
	for range wire.Window / wire.MaxFrame {
		if err := in.put(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.put([]byte{0}); err != errCredit {
		t.Errorf("put beyond the window = %v, want %v", err, errCredit)
	}
	in.end()
	if b, err := io.ReadAll(in); len(b) != wire.Window || err != nil {
		t.Errorf("read %d bytes, %v, want %d", len(b), err, wire.Window)
	}
	// The last of it may be less than is worth a frame.
	if granted <= wire.Window*3/4 {
		t.Errorf("granted = %d of %d", granted, wire.Window)
	}
	in.Close()
	if _, err := in.Read(chunk); err != io.ErrClosedPipe {
		t.Errorf("read after Close = %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestCreditIsCapped(t *testing.T) {
	c := newCredit(wire.Window)
	if err := c.give(1); err != errCredit {
		t.Errorf("give beyond the window = %v, want %v", err, errCredit)
	}
	n, ok := c.take(100)
	if n != 100 || !ok {
		t.Errorf("take = %d, %v, want 100", n, ok)
	}
	if err := c.give(100); err != nil {
		t.Error(err)
	}
	c.close()
	if _, ok := c.take(1); ok {
		t.Error("take from closed credit")
	}
}

// One connection too many cuts the oldest short, and only that: at once where there are very
// many, and where there are many when it has dawdled.
func TestGate(t *testing.T) {
	for _, tt := range []struct {
		room int
		wait time.Duration
	}{{maxNew, 0}, {maxUnheard, dawdling + time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			var g gate
			var ends []net.Conn
			enter := func() {
				a, b := net.Pipe()
				t.Cleanup(func() { a.Close(); b.Close() })
				g.enter(a)
				ends = append(ends, a)
			}
			enter()
			time.Sleep(tt.wait)
			for range tt.room - 1 {
				enter()
			}
			if len(g.unheard) != tt.room {
				t.Fatalf("%d wait, want all %d", len(g.unheard), tt.room)
			}
			enter()
			if _, err := ends[0].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the oldest connection: %v, want it cut short", err)
			}
			if len(g.unheard) != tt.room || g.unheard[0].Conn != ends[1] {
				t.Errorf("%d wait, want %d without the oldest", len(g.unheard), tt.room)
			}
			for _, c := range ends {
				g.leave(c)
			}
			if len(g.unheard) != 0 {
				t.Errorf("%d are left", len(g.unheard))
			}
		})
	}
}
