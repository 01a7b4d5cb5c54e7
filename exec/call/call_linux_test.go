// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

func TestMain(m *testing.M) {
	if os.Args[0] == proctree.HelperName {
		os.Exit(proctree.Helper(os.Args))
	}
	proctree.DefaultSignals() // nohup, or a script's &, is not what is tested
	os.Exit(m.Run())
}

// Attack 61.
func TestServe(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		outcome wire.Outcome
		code    byte
		out     string
		text    string // part of
	}{
		{"exit 0", []string{"sh", "-c", "echo hi"}, wire.Exited, 0, "hi\n", ""},
		{"exit 3", []string{"sh", "-c", "exit 3"}, wire.Exited, 3, "", ""},
		{"signal", []string{"sh", "-c", "kill -TERM $$"}, wire.Signaled, 143, "", ""},
		{"by path", []string{"/run/hostexec/bin/sh", "-c", "echo $0"}, wire.Exited, 0, "sh\n", ""},
		{"verb", []string{"hostexec", "sh", "-c", "echo hi"}, wire.Exited, 0, "hi\n", ""},
		{"denied", []string{"rm", "x"}, wire.Refused, 126, "", "rm: denied by --proxy rm=deny"},
		{"nobody to ask", []string{"git"}, wire.Refused, 126, "", "git: nobody is there to ask"},
		{"not proxied", []string{"id"}, wire.Refused, 127, "", "id: not a proxied command"},
		{"escapes are shown, not sent", []string{"\x1b[2J"}, wire.Refused, 127, "", `"\x1b[2J": not the name`},
		{"verb, path", []string{"hostexec", "/bin/sh"}, wire.Refused, 127, "", `"/bin/sh"`},
		{"lost", []string{"lost"}, wire.Failed, 127, "", "lost: not found on the host any more"},
		{"not executable", []string{"passwd"}, wire.Failed, 126, "", "passwd: not executable on the host"},
		{"no verb", []string{"hostexec"}, wire.Exited, 1, "", "Usage: hostexec <command>"},
		{"verb before command", []string{"hostexec", "--", "ls"}, wire.Refused, 127, "", "ls: not a proxied command"},
		{"itself after --", []string{"hostexec", "--", "hostexec"}, wire.Refused, 127, "", "hostexec ls lists the commands"},
		{"nothing after --", []string{"hostexec", "--"}, wire.Failed, 125, "", "see hostexec --help"},
		{"unknown flag", []string{"hostexec", "--bogus"}, wire.Failed, 125, "", "unknown flag: --bogus"},
		{"version", []string{"hostexec", "--version"}, wire.Exited, 0, "hostexec version v0\n", ""},
		{"ps", []string{"hostexec", "ps"}, wire.Exited, 0, "REQUEST   KIND   STATUS   EXIT   TIME   COMMAND\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			c := calltest.Dial(t, s)
			c.Exec(t, wire.FDNull, tt.args...)
			c.Read(t, wire.KindExit)
			if c.Exit.Outcome != tt.outcome || c.Exit.Code != tt.code {
				t.Errorf("%q: outcome %v, code %d, want %v, %d (%s)", tt.args, c.Exit.Outcome, c.Exit.Code, tt.outcome, tt.code, c.Exit.Text)
			}
			if c.Out.String() != tt.out {
				t.Errorf("%q: stdout = %q, want %q", tt.args, c.Out.String(), tt.out)
			}
			if !strings.Contains(c.Exit.Text, tt.text) || strings.Count(c.Exit.Text, "\n") > 1 {
				t.Errorf("%q: text = %q, want one line with %q", tt.args, c.Exit.Text, tt.text)
			}
		})
	}
}

// TestServeNoInterpreter calls a script without its interpreter. The message was that the script itself is not found.
func TestServeNoInterpreter(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/nope/interp\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, _ := calltest.NewServer(t)
	sc := *s.Config()
	sc.Policy = &policy.Policy{Commands: []policy.Command{{Name: "script", Action: policy.Allow, Path: script}}}
	s.SetConfig(&sc)
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "script")
	c.Read(t, wire.KindExit)
	if c.Exit.Code != 127 || !strings.Contains(c.Exit.Text, "script: its interpreter is missing on the host") || !strings.Contains(c.Exit.Text, `look for "/nope/interp" there`) {
		t.Errorf("code %d, %s", c.Exit.Code, c.Exit.Text)
	}
}

func TestServeStdin(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDFile, "sh", "-c", "read a; echo got $a; read b; echo got $b >&2")
	c.Read(t, wire.KindStarted)
	c.Send(t, wire.KindStdin, []byte("one\ntwo\nnobody reads this"))
	c.Send(t, wire.KindStdinEOF, nil)
	c.Read(t, wire.KindExit)
	if c.Out.String() != "got one\n" || c.Err.String() != "got two\n" || c.Exit.Code != 0 {
		t.Errorf("stdout %q, stderr %q, code %d", c.Out.String(), c.Err.String(), c.Exit.Code)
	}
	// sh reads a pipe byte by byte, so that the rest stays for whoever comes next.
	if c.Exit.Consumed != 8 {
		t.Errorf("consumed = %d, want 8", c.Exit.Consumed)
	}
}

// A caller that hangs up ends the command and what it started, and START without
// COMPLETE never stays.
func TestServeHangUp(t *testing.T) {
	s, log := calltest.NewServer(t)
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	// ends when ours is closed, below.
	go func() { defer close(done); s.Serve(context.Background(), context.Background(), theirs) }()
	c := &calltest.Caller{Conn: ours, Cwd: "/"}
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := calltest.MakeFIFO(fifo); err != nil {
		t.Fatal(err)
	}
	c.Exec(t, wire.FDNull, "sh", "-c", "exec 3>"+fifo+"; (trap '' HUP; sleep 1000) & wait")
	alive, err := os.Open(fifo) // returns when the command has opened it, too
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	ours.Close()
	<-done
	if n, err := alive.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read = %d, %v, want EOF: somebody still has the pipe", n, err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b); strings.Count(got, "HOSTEXEC START") != 1 || strings.Count(got, "HOSTEXEC COMPLETE") != 1 {
		t.Errorf("audit log:\n%swant one START and one COMPLETE", got)
	}
}

// What is no request is answered with why, and ends the connection.
func TestServeGarbage(t *testing.T) {
	hello := (&wire.Exec{Args: []string{"sh"}, Cwd: "/"}).Append(nil)
	other := append([]byte{wire.Version + 1}, hello[1:]...)
	for _, tt := range []struct {
		name string
		sent []byte
		text string
	}{
		{"http", []byte("GET / HTTP/1.1\r\n"), "not a request"},
		{"too long", wire.AppendHeader(nil, wire.KindExec, wire.MaxExec+1), "not a request"},
		{"another kind", wire.AppendFrame(nil, wire.KindStdin, []byte("x")), "not a request"},
		{"another version", wire.AppendFrame(nil, wire.KindExec, other), "different versions"},
		{"short", wire.AppendFrame(nil, wire.KindExec, hello[:len(hello)-1]), "not a request"},
		{"trailing bytes", wire.AppendFrame(nil, wire.KindExec, append(hello, 0)), "not a request"},
		{"descriptors that never came", wire.AppendFrame(nil, wire.KindExec,
			(&wire.Exec{FDs: [3]wire.FD{wire.FDPipe}, Passed: 1, Args: []string{"sh"}, Cwd: "/"}).Append(nil)), "announced"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			c := calltest.Dial(t, s)
			// The server may answer before it has read all; it must not be waited for.
			go c.Conn.Write(tt.sent) // ends when the test closes the pipe
			c.Read(t, wire.KindExit)
			if c.Exit.Outcome != wire.Failed || c.Exit.Code != 125 || !strings.Contains(c.Exit.Text, tt.text) {
				t.Errorf("exit = %+v, want 125 and %q", c.Exit, tt.text)
			}
		})
	}
}

// Bytes beyond what was granted end the call.
func TestServeCredit(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDFile, "sh", "-c", "sleep 1000")
	c.Read(t, wire.KindStarted)
	chunk := make([]byte, wire.MaxFrame)
	for range 64 { // 4 MiB into a window of 256 KiB and a pipe of 64
		if _, err := c.Conn.Write(wire.AppendFrame(nil, wire.KindStdin, chunk)); err != nil {
			return
		}
	}
	t.Error("4 MiB were taken without credit")
}

// TestServeCreditOfOutput checks that calls end if they grant more bytes of output than the window has, in one frame or
// in many. A number that does not fit into an int of 32 bits is invalid.
//
// Attack 219.
func TestServeCreditOfOutput(t *testing.T) {
	for _, grants := range [][]uint32{{1 << 31}, {1<<32 - 1}, {wire.Window + 1}, {1}, {wire.Window, wire.Window}, {0, 0, 1<<31 - 1}} {
		s, _ := calltest.NewServer(t)
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDFile, "sh", "-c", "read line; echo $line; sleep 1000")
		c.Read(t, wire.KindStarted)
		var frames []byte
		for _, n := range grants {
			frames = wire.AppendFrame(frames, wire.KindCredit, wire.AppendCredit(nil, n))
		}
		// A call that takes the credit uses it. What stands behind the frame that ends it is not read.
		_, _ = c.Conn.Write(wire.AppendFrame(frames, wire.KindStdin, []byte("out\n")))
		_ = c.Conn.SetReadDeadline(time.Now().Add(time.Minute))
		if b, err := io.ReadAll(c.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("credit of %d: the call goes on, and says %q", grants, b)
		}
	}
}

// What COMPLETE says of a command that ended well although its caller, who takes no output,
// went away before it could be told.
func TestEndOfHangUp(t *testing.T) {
	s, log := calltest.NewServer(t)
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	// ends when ours is closed, below.
	go func() { defer close(served); s.Serve(context.Background(), context.Background(), theirs) }()
	c := &calltest.Caller{Conn: ours, Cwd: "/"}
	fifo := filepath.Join(t.TempDir(), "ended")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Exec(t, wire.FDNull, "sh", "-c", "echo hi; exec 3>"+fifo+"; exit 0")
	c.Read(t, wire.KindStarted)
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 1)); err != io.EOF { // its end closes the other side
		t.Fatalf("the command still holds its side: %v", err)
	}
	f.Close()
	ours.Close()
	<-served
	b, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(b), " exit=0 ") {
		t.Errorf("the log says %s, %v, want exit=0", b, err)
	}
}

// Attack 94.
func TestTooLongToAsk(t *testing.T) {
	s, _ := calltest.NewServer(t)
	defer s.Queue.AddApprover()()
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "git", strings.Repeat("x", call.MaxShown))
	c.Read(t, wire.KindExit)
	if c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, "more than a person reads") {
		t.Errorf("%+v", c.Exit)
	}
}

// A resumed session may have callers before its configuration is set. A limited number of them waits.
func TestServeBeforeConfig(t *testing.T) {
	s, _ := calltest.NewServer(t)
	synctest.Test(t, func(t *testing.T) {
		late := &call.Server{Version: s.Version, Verbs: s.Verbs, Log: s.Log}
		dial := func() *calltest.Caller {
			c := calltest.Dial(t, late)
			c.Exec(t, wire.FDNull, "hostexec", "--version")
			synctest.Wait() // until the server waits
			return c
		}
		var early []*calltest.Caller
		for range call.MaxEarly {
			early = append(early, dial())
		}
		more := dial()
		if more.Read(t, wire.KindExit); !strings.Contains(more.Exit.Text, "the session is not ready") {
			t.Errorf("one more: exit text %q", more.Exit.Text)
		}
		late.SetConfig(s.Config())
		for i, c := range early {
			if c.Read(t, wire.KindExit); c.Out.String() != "hostexec version v0\n" {
				t.Errorf("caller %d: stdout %q, exit text %q", i, c.Out.String(), c.Exit.Text)
			}
		}
	})
}
