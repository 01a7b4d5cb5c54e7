// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// FuzzServe sends any bytes as the frames of a shim, to a server that allows no command. Nothing starts, and the call
// ends when the shim hangs up.
//
// Attack 25.
func FuzzServe(f *testing.F) {
	exec := func(args ...string) []byte {
		return wire.AppendFrame(nil, wire.KindExec, (&wire.Exec{Args: args, Cwd: "/"}).Append(nil))
	}
	f.Add(exec("sh", "-c", "exit"))
	f.Add(append(exec("hostexec", "ls"), wire.AppendFrame(nil, wire.KindCredit, wire.AppendCredit(nil, 1<<20))...))
	f.Add(append(exec("hostexec", "session", "list"), wire.AppendFrame(nil, wire.KindStdinEOF, nil)...))
	f.Add(exec("hostexec", "-d", "--keep", "sh"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, log := calltest.NewServer(t)
		config := *s.Config()
		config.Policy = &policy.Policy{}
		s.SetConfig(&config)
		c := calltest.Dial(t, s)
		c.Drain()
		c.Conn.Write(text) // fails if the server hangs up first
		c.Conn.Close()
		s.Wait()
		if started := calltest.Audited(t, log, " START "); len(started) > 0 {
			t.Errorf("%q starts %q", text, started)
		}
	})
}
