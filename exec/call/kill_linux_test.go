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
	s, _ := Scene(t)
	c := Dial(t, s)
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := MakeFIFO(fifo); err != nil {
		t.Fatal(err)
	}
	c.Exec(t, wire.FDNull, "sh", "-c", "exec 3>"+fifo+"; (trap '' HUP; sleep 1000) & wait; sleep 1000") // children are ended first
	c.Read(t, wire.KindStarted)
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
	c.Read(t, wire.KindExit)
	if c.Exit.Outcome != wire.Signaled || c.Exit.Signal != "TERM" {
		t.Errorf("the caller is told %+v, want that it died of TERM", c.Exit)
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
	s, _ := Scene(t)
	c := Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "sleep 1000 & wait") // which says nothing of the end of a child
	c.Read(t, wire.KindStarted)
	id := s.Running()[0].Request
	if got := Hostexec(t, s, "kill", "-s", "USR1", id); got.Exit.Code != 1 || !strings.Contains(got.Exit.Text, "signals from its caller only") {
		t.Errorf("kill -s: %+v", got.Exit)
	}
	if got := Hostexec(t, s, "kill", "zz", ""); got.Exit.Code != 1 || strings.Count(got.Exit.Text, "no such job") != 2 {
		t.Errorf("kill of none: %+v", got.Exit)
	}
	if got := Hostexec(t, s, "kill", id[:8]); got.Exit.Code != 0 || got.Out.String() != id+"\n" {
		t.Errorf("kill: %q, %+v", got.Out.String(), got.Exit)
	}
	if c.Read(t, wire.KindExit); c.Exit.Outcome != wire.Signaled || c.Exit.Signal != "TERM" {
		t.Errorf("the caller is told %+v, want that it died of TERM", c.Exit)
	}
}
