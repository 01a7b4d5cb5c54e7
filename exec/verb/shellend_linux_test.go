// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestKillAny checks that kill in the container ends everything that ps lists, and no other process of the host.
func TestKillAny(t *testing.T) {
	p := calltest.ShellPolicy(policy.Allow)
	p.Commands = append(p.Commands, policy.Command{Name: "sh", Action: policy.Allow, Path: "/bin/sh"})
	s := calltest.NewShellServer(t, p)
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"hostexec", "session", "exec", "one", "--", "sleep 1000"},
		{"hostexec", "session", "start", "one", "--", "sleep 1000"},
		{"sh", "-c", "sleep 1000; :"},
	} {
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDNull, words...)
		told := make(chan struct{})
		// ends with the call, which kill below ends.
		go func() { defer close(told); c.Read(t, wire.KindExit) }()
		exectest.Eventually(t, "it runs", func() bool { return len(s.Running()) > 0 })
		id := s.Running()[0].Request
		if k := calltest.Hostexec(t, s, "kill", "-s", "HUP", id); k.Exit.Code != 1 || !strings.Contains(k.Exit.Text, "signals from its caller only") {
			t.Errorf("%q: kill -s: %+v", words, k.Exit)
		}
		if k := calltest.Hostexec(t, s, "kill", id[:8]); k.Exit.Code != 0 || k.Out.String() != id+"\n" || len(s.Running()) > 0 {
			t.Errorf("%q: kill: %q, %+v", words, k.Out.String(), k.Exit)
		}
		<-told
		if c.Exit.Signal != "TERM" || c.Exit.Outcome != wire.Signaled {
			t.Errorf("%q: its caller is told %+v", words, c.Exit)
		}
	}
}
