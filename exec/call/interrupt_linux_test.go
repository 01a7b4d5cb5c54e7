// SPDX-License-Identifier: Apache-2.0

package call

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestInterrupt sends each signal that ends a program to the callers of verbs that wait: the
// caller ends as by the signal, and what it had started ends too. The job goes on.
func TestInterrupt(t *testing.T) {
	p := shellPolicy(policy.Allow)
	p.Commands = append(p.Commands, policy.Command{Name: "sh", Action: policy.Allow, Path: "/bin/sh"})
	s := shells(t, p)
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	hold, gone := alive(t)
	job := background(t, s, "sh", "-c", hold+"echo said; sleep 1000")
	for _, tt := range []struct {
		verb  string
		words []string
	}{
		{"exec", []string{"session", "exec", "one", "--", "echo said; sleep 1000; sleep 1001"}},
		{"start", []string{"session", "start", "one", "--", "echo said; sleep 1000; sleep 1001"}},
		{"logs", []string{"logs", "-f", job}},
		{"logs of both", []string{"logs", "-f", "--combined", "--raw", job}},
	} {
		for name, number := range fatalSignals {
			c := dial(t, s)
			c.exec(t, wire.FDNull, append([]string{"hostexec"}, tt.words...)...)
			for !strings.Contains(c.out.String(), "said") {
				c.read(t, wire.KindStdout)
			}
			c.send(t, wire.KindSignal, wire.AppendSignal(nil, "WINCH"))
			c.send(t, wire.KindSignal, wire.AppendSignal(nil, "TSTP"))
			c.read(t, wire.KindStopped)
			c.send(t, wire.KindSignal, wire.AppendSignal(nil, name))
			c.read(t, wire.KindExit)
			if want := (wire.Exit{Outcome: wire.Signaled, Code: 128 + number, Signal: name}); c.exit != want {
				t.Errorf("%s, %s: %+v, want %+v", tt.verb, name, c.exit, want)
			}
		}
	}
	if running := s.Running(); len(running) != 1 || running[0].Request != job {
		t.Errorf("still running: %v, want the job alone", running)
	}
	if c := hostexec(t, s, "kill", job); c.exit.Code != 0 {
		t.Errorf("kill: %+v", c.exit)
	}
	gone()
}

// TestInterruptInLine: a caller whose text waits for the shell's turn leaves the line.
func TestInterruptInLine(t *testing.T) {
	s := shells(t, shellPolicy(policy.Allow))
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	first, second := dial(t, s), dial(t, s)
	for _, c := range []*caller{first, second} {
		c.exec(t, wire.FDNull, "hostexec", "session", "exec", "one", "--", "echo ready; sleep 1000")
		if c == first {
			c.read(t, wire.KindStdout)
		} else {
			c.read(t, wire.KindStarted)
		}
	}
	for _, c := range []*caller{second, first} {
		c.send(t, wire.KindSignal, wire.AppendSignal(nil, "INT"))
		c.read(t, wire.KindExit)
		if c.exit.Signal != "INT" {
			t.Errorf("%+v, want the death by INT", c.exit)
		}
	}
	if second.out.Len() > 0 {
		t.Errorf("the second has run: %q", second.out.String())
	}
}
