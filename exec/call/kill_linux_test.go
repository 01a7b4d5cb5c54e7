// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A person ends a command: its whole tree goes, and the caller is told of which signal.
func TestKill(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := calltest.MakeFIFO(fifo); err != nil {
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
