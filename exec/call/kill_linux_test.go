// SPDX-License-Identifier: Apache-2.0

package call

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A person ends a command: its whole tree goes, and the caller is told of which signal.
func TestKill(t *testing.T) {
	s, _ := scene(t)
	c := dial(t, s)
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := makeFIFO(fifo); err != nil {
		t.Fatal(err)
	}
	c.exec(t, wire.FDNull, "sh", "-c", "exec 3>"+fifo+"; (trap '' HUP; sleep 1000) & wait; sleep 1000") // children are ended first
	c.read(t, wire.KindStarted)
	alive, err := os.Open(fifo) // returns when the command has opened it, too
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	if s.Kill("0000000000000000") {
		t.Error("Kill of a request that there is not = true")
	}
	id := s.Running()[0].Request
	if !s.Kill(id) {
		t.Error("Kill of a command that runs = false")
	}
	c.read(t, wire.KindExit)
	if c.exit.Outcome != wire.Signaled || c.exit.Signal != "TERM" {
		t.Errorf("the caller is told %+v, want that it died of TERM", c.exit)
	}
	if n, err := alive.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read = %d, %v, want EOF: somebody still has the pipe", n, err)
	}
	if s.Kill(id) {
		t.Error("Kill of what has ended = true")
	}
}

// TestKillCall: hostexec kill ends a call that hostexec ps lists, by its id or the beginning of one.
func TestKillCall(t *testing.T) {
	s, _ := scene(t)
	c := dial(t, s)
	c.exec(t, wire.FDNull, "sh", "-c", "sleep 1000 & wait") // which says nothing of the end of a child
	c.read(t, wire.KindStarted)
	id := s.Running()[0].Request
	if got := hostexec(t, s, "kill", "-s", "USR1", id); got.exit.Code != codeNo || !strings.Contains(got.exit.Text, "signals from its caller only") {
		t.Errorf("kill -s: %+v", got.exit)
	}
	if got := hostexec(t, s, "kill", "zz", ""); got.exit.Code != codeNo || strings.Count(got.exit.Text, "no such job") != 2 {
		t.Errorf("kill of none: %+v", got.exit)
	}
	if got := hostexec(t, s, "kill", id[:8]); got.exit.Code != 0 || got.out.String() != id+"\n" {
		t.Errorf("kill: %q, %+v", got.out.String(), got.exit)
	}
	if c.read(t, wire.KindExit); c.exit.Outcome != wire.Signaled || c.exit.Signal != "TERM" {
		t.Errorf("the caller is told %+v, want that it died of TERM", c.exit)
	}
}
