// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"bytes"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// stall reads the window of c, and gives no credit for it. The command has more to say.
func stall(t *testing.T, c *calltest.Caller) {
	t.Helper()
	for n := 0; n < wire.Window; {
		kind, b, err := wire.ReadFrame(c.Conn, make([]byte, wire.MaxFrame))
		if err != nil || kind == wire.KindExit {
			t.Fatalf("%v after %d bytes of output: %v", kind, n, err)
		}
		if kind == wire.KindStdout || kind == wire.KindStderr {
			n += len(b)
		}
	}
}

// TestKillStalled kills a command whose caller takes no output: hostexec kill waited for the caller, for whose command
// nothing was left to end, and the call kept its record and its place among limits.calls. The caller still gets the end
// of its call.
//
// Attack 167.
func TestKillStalled(t *testing.T) {
	s, log := calltest.NewServer(t)
	for _, tt := range []struct {
		name, script string
		signal       string
	}{
		// More than the window, and the rest is in the pipe.
		{"runs", "head -c 290000 /dev/zero; exec 3>&-; exec sleep 1000", "TERM"},
		{"has ended", "exec head -c 290000 /dev/zero", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := calltest.Dial(t, s)
			hold, written := calltest.Alive(t)
			c.Exec(t, wire.FDNull, "sh", "-c", hold+tt.script)
			stall(t, c)
			written()
			if k := calltest.Hostexec(t, s, "kill", s.Running()[0].Request); k.Exit.Code != 0 {
				t.Errorf("kill = %+v", k.Exit)
			}
			if all := s.Running(); len(all) != 0 {
				t.Errorf("running: %+v", all)
			}
			if c.Read(t, wire.KindExit); c.Exit.Outcome == wire.Failed || c.Exit.Signal != tt.signal || c.Out.Len() > 0 {
				t.Errorf("the caller got %d more bytes and %+v, want signal %q", c.Out.Len(), c.Exit, tt.signal)
			}
		})
	}
	if ended := calltest.Audited(t, log, "HOSTEXEC COMPLETE"); len(ended) != 2 {
		t.Errorf("%d COMPLETE, want 2", len(ended))
	}
}

// TestTextStalled ends texts whose caller takes no output. A timed out text kept the turn of its shell until its caller
// left, and the person at the host waited for the same shell.
//
// Attack 167.
func TestTextStalled(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	calltest.HostexecSession(t, s, "create", "a")
	const late, killed = 124, 143
	for _, tt := range []struct {
		name string
		args []string
		code byte
	}{
		{"timeout", []string{"exec", "--timeout", "1s", "a", "--", "yes"}, late},
		{"timeout of a copy", []string{"start", "--timeout", "1s", "a", "--", "yes"}, late},
		{"kill", []string{"exec", "a", "--", "yes"}, killed},
		{"kill with an answer", []string{"exec", "--json", "a", "--", "head -c 100000 /dev/zero"}, killed}, // as JSON longer than the window
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := calltest.Dial(t, s)
			c.Exec(t, wire.FDFile, append([]string{"hostexec", "session"}, tt.args...)...)
			stall(t, c)
			if tt.code == killed {
				call.KillByContainer(s, s.Running()[0].Request)
			}
			var out bytes.Buffer
			code, err := s.RunShell(t.Context(), "ann", "a", shell.Command{Text: "echo next"}, shell.Output{Out: &out, Err: &out})
			if code != 0 || err != nil || out.String() != "next\n" {
				t.Errorf("the next text = %d, %v, %q", code, err, out.String())
			}
			if c.Read(t, wire.KindExit); c.Exit.Code != tt.code || c.Out.Len() > 0 {
				t.Errorf("the caller got %d more bytes and %+v, want code %d", c.Out.Len(), c.Exit, tt.code)
			}
			if all := s.Running(); len(all) != 0 {
				t.Errorf("running: %+v", all)
			}
		})
	}
}
