// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestInterruptInLine: a caller whose text waits for the shell's turn leaves the line.
func TestInterruptInLine(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	first, second := calltest.Dial(t, s), calltest.Dial(t, s)
	for _, c := range []*calltest.Caller{first, second} {
		c.Exec(t, wire.FDNull, "hostexec", "session", "exec", "one", "--", "echo ready; sleep 1000")
		if c == first {
			c.Read(t, wire.KindStdout)
		} else {
			c.Read(t, wire.KindStarted)
		}
	}
	for _, c := range []*calltest.Caller{second, first} {
		c.Send(t, wire.KindSignal, wire.AppendSignal(nil, "INT"))
		c.Read(t, wire.KindExit)
		if c.Exit.Signal != "INT" {
			t.Errorf("%+v, want the death by INT", c.Exit)
		}
	}
	if second.Out.Len() > 0 {
		t.Errorf("the second has run: %q", second.Out.String())
	}
}
