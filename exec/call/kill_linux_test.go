// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/policy"
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

// A command whose exec waits is listed, and can be killed: its caller sees no other way to learn of it.
func TestKillStarting(t *testing.T) {
	program, _ := exectest.LeasedProgram(t, []byte("#!/bin/sh\n"))
	for _, words := range [][]string{{"slow"}, {"hostexec", "-d", "slow"}} {
		s, log := calltest.NewServer(t)
		s.Config().Policy.Commands = append(s.Config().Policy.Commands, policy.Command{Name: "slow", Action: policy.Allow, Path: program})
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDNull, words...)
		exectest.Eventually(t, "it is listed", func() bool { return len(s.Running()) == 1 })
		if r := s.Running()[0]; r.Args[0] != "slow" || r.PID != 0 {
			t.Errorf("%q: it is listed as %+v", words, r)
		}
		k := calltest.Hostexec(t, s, "kill", s.Running()[0].Request)
		if k.Exit.Code != 0 {
			t.Errorf("%q: kill = %d %s", words, k.Exit.Code, k.Err.String())
		}
		c.Read(t, wire.KindExit)
		if c.Exit.Outcome != wire.Signaled || c.Exit.Signal != "TERM" || len(s.Running()) != 0 {
			t.Errorf("%q: the caller is told %+v, want that it died of TERM", words, c.Exit)
		}
		s.Wait() // a job is recorded after its caller has its answer
		if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "exit=143") {
			t.Errorf("%q: %v, no COMPLETE with exit=143 in\n%s", words, err, b)
		}
	}
}
