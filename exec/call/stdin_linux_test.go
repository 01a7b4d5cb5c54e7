// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestAgentStdin checks that calls of an agent do not read the agent's own stdin unless they ask
// for it.
func TestAgentStdin(t *testing.T) {
	for _, tt := range []struct {
		name  string
		agent string
		stdin wire.FD
		env   []string
		reads bool
	}{
		{"a container's pipe", "", wire.FDPipe, nil, true},
		{"a container's pipe, unwanted", "", wire.FDPipe, []string{"HOSTEXEC_STDIN=null"}, false},
		{"an agent's pipe", "a", wire.FDPipe, nil, false},
		{"an agent's socket", "a", wire.FDSocket, []string{"HOSTEXEC_STDIN="}, false},
		{"an agent's file", "a", wire.FDFile, nil, false},
		{"an agent's pipe, wanted", "a", wire.FDPipe, []string{"HOSTEXEC_STDIN=auto"}, true},
		{"the first of two values counts", "a", wire.FDPipe, []string{"HOSTEXEC_STDIN=null", "HOSTEXEC_STDIN=auto"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			sc := *s.Config()
			sc.Agent = tt.agent
			s.SetConfig(&sc)
			c := calltest.Dial(t, s)
			c.Env = tt.env
			c.Exec(t, tt.stdin, "sh", "-c", "cat")
			if c.Read(t, wire.KindStarted); tt.reads {
				c.Send(t, wire.KindStdin, []byte("a message"))
				c.Send(t, wire.KindStdinEOF, nil)
			}
			c.Read(t, wire.KindExit)
			if got := c.Out.String(); (got == "a message") != tt.reads || c.Exit.Code != 0 {
				t.Errorf("it read %q and exited with %d, want it to read: %t", got, c.Exit.Code, tt.reads)
			}
		})
	}
}

// TestStdinUnknown mistypes the value of the variable. The call fails before its command starts.
func TestStdinUnknown(t *testing.T) {
	for _, agent := range []string{"", "a"} {
		s, _ := calltest.NewServer(t)
		sc := *s.Config()
		sc.Agent = agent
		s.SetConfig(&sc)
		c := calltest.Dial(t, s)
		c.Env = []string{"HOSTEXEC_STDIN=nul\x1b"}
		c.Exec(t, wire.FDPipe, "true")
		c.Read(t, wire.KindExit)
		const text = `hostexec: HOSTEXEC_STDIN: want null or auto: "nul\x1b": see hostexec --help` + "\n"
		if c.Exit.Code != wire.CodeFailed || c.Exit.Text != text {
			t.Errorf("agent %q: it exited with %d, %q, want %d, %q", agent, c.Exit.Code, c.Exit.Text, wire.CodeFailed, text)
		}
	}
}
