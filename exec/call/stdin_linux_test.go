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
		{"a value that means nothing", "", wire.FDPipe, []string{"HOSTEXEC_STDIN=x"}, true},
		{"an agent's pipe", "a", wire.FDPipe, nil, false},
		{"an agent's socket", "a", wire.FDSocket, []string{"HOSTEXEC_STDIN="}, false},
		{"an agent's file", "a", wire.FDFile, []string{"HOSTEXEC_STDIN=x"}, false},
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
