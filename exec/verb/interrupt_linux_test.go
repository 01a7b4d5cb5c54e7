// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestInterrupt sends each signal that ends a program to the callers of verbs that wait. The caller
// ends by the signal, and the processes that it started end too. The job goes on.
func TestInterrupt(t *testing.T) {
	p := calltest.ShellPolicy(policy.Allow)
	p.Commands = append(p.Commands, policy.Command{Name: "sh", Action: policy.Allow, Path: "/bin/sh"})
	s := calltest.NewShellServer(t, p)
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	hold, gone := calltest.Alive(t)
	job := calltest.Background(t, s, "sh", "-c", hold+"echo said; sleep 1000")
	for _, tt := range []struct {
		verb  string
		words []string
	}{
		{"exec", []string{"session", "exec", "one", "--", "echo said; sleep 1000; sleep 1001"}},
		{"start", []string{"session", "start", "one", "--", "echo said; sleep 1000; sleep 1001"}},
		{"logs", []string{"logs", "-f", job}},
		{"logs of both", []string{"logs", "-f", "--combined", "--raw", job}},
	} {
		for name, number := range map[string]byte{
			"HUP": 1, "INT": 2, "QUIT": 3, "USR1": 10, "USR2": 12, "TERM": 15, "ALRM": 14, "ABRT": 6, "SYS": 31,
		} {
			c := calltest.Dial(t, s)
			c.Exec(t, wire.FDNull, append([]string{"hostexec"}, tt.words...)...)
			for !strings.Contains(c.Out.String(), "said") {
				c.Read(t, wire.KindStdout)
			}
			c.Send(t, wire.KindSignal, wire.AppendSignal(nil, "WINCH"))
			c.Send(t, wire.KindSignal, wire.AppendSignal(nil, "TSTP"))
			c.Read(t, wire.KindStopped)
			c.Send(t, wire.KindSignal, wire.AppendSignal(nil, name))
			c.Read(t, wire.KindExit)
			if want := (wire.Exit{Outcome: wire.Signaled, Code: 128 + number, Signal: name}); c.Exit != want {
				t.Errorf("%s, %s: %+v, want %+v", tt.verb, name, c.Exit, want)
			}
		}
	}
	if running := s.Running(); len(running) != 1 || running[0].Request != job {
		t.Errorf("still running: %v, want the job alone", running)
	}
	if c := calltest.Hostexec(t, s, "kill", job); c.Exit.Code != 0 {
		t.Errorf("kill: %+v", c.Exit)
	}
	gone()
}
