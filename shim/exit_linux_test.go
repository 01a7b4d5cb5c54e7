// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

func TestExit(t *testing.T) {
	s := newFakeHost(t)
	tests := []struct {
		name string
		exit wire.Exit
		code int            // expected code, or
		sig  syscall.Signal // expected signal
	}{
		{"success", wire.Exit{Outcome: wire.Exited}, 0, 0},
		{"the highest code", wire.Exit{Outcome: wire.Exited, Code: 255}, 255, 0},
		{"INT", wire.Exit{Outcome: wire.Signaled, Signal: "INT", Code: 130}, 0, syscall.SIGINT},
		{"TERM", wire.Exit{Outcome: wire.Signaled, Signal: "TERM", Code: 143}, 0, syscall.SIGTERM},
		{"HUP", wire.Exit{Outcome: wire.Signaled, Signal: "HUP", Code: 129}, 0, syscall.SIGHUP},
		{"KILL", wire.Exit{Outcome: wire.Signaled, Signal: "KILL", Code: 137}, 0, syscall.SIGKILL},
		{"SEGV", wire.Exit{Outcome: wire.Signaled, Signal: "SEGV", Code: 139}, 139, 0},
		{"refused", wire.Exit{Outcome: wire.Refused, Code: 126}, 126, 0},
		{"not proxied", wire.Exit{Outcome: wire.Refused, Code: 127}, 127, 0},
		{"failure is never 0", wire.Exit{}, 125, 0},
		{"a refusal is never 0", wire.Exit{Outcome: wire.Refused}, 126, 0},
		{"time up is never 0", wire.Exit{Outcome: wire.TimedOut}, 124, 0},
		{"a signal is never 0", wire.Exit{Outcome: wire.Signaled, Signal: "SEGV"}, 125, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := s.command("make")
			c.t = t
			c.start()
			p := accept(t, s.sock)
			p.started(wire.Null, wire.Null, wire.Null)
			p.exit(tt.exit)
			if tt.sig != 0 {
				c.wantSignal(tt.sig)
			} else {
				c.wantExit(tt.code)
			}
		})
	}
}

// TestWithheld checks that the message about missing stdin appears only if there is data.
func TestWithheld(t *testing.T) {
	s := newFakeHost(t)
	data, writer := pipe(t)
	empty, _ := pipe(t)
	writer.WriteString("x")
	done := file(t, "x", os.O_RDONLY)
	done.Seek(1, 0)
	for _, tt := range []struct {
		name string
		in   *os.File
		says string
	}{
		{"data in a pipe", data, "withheld\n"},
		{"an empty pipe", empty, ""},
		{"a file", file(t, "x", os.O_RDONLY), "withheld\n"},
		{"a file that was read", done, ""},
		{"nothing", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := s.command("make")
			c.t = t
			if tt.in != nil {
				c.Stdin = tt.in
			}
			said := file(t, "", os.O_RDWR)
			c.Stderr = said
			c.start()
			p := accept(t, s.sock)
			p.started(wire.Null, wire.Null, wire.Null)
			p.exit(wire.Exit{Outcome: wire.Exited, Consumed: wire.Withheld, Text: "withheld\n"})
			c.wantExit(0)
			if got, err := os.ReadFile(said.Name()); string(got) != tt.says {
				t.Errorf("it says %q, %v, want %q", got, err, tt.says)
			}
		})
	}
}

func TestExitMessage(t *testing.T) {
	s := newFakeHost(t)
	malformed := wire.AppendFrame(nil, wire.KindExit, []byte{1})
	success := (&wire.Exit{Outcome: wire.Exited}).Append(nil)
	tests := []struct {
		name   string
		frames []byte // the connection ends after them
		code   int
		stderr string // expected prefix
	}{
		{"a notice and a refusal",
			wire.AppendFrame(wire.AppendFrame(nil, wire.KindNotice, []byte("hostexec: asking\n")), wire.KindExit,
				(&wire.Exit{Outcome: wire.Refused, Code: 126, Text: "hostexec: no\n"}).Append(nil)),
			126, "hostexec: asking\nhostexec: no\n"},
		{"nothing", nil, 125, "hostexec: the host side went away: connection closed\nhostexec: hint: docker hostexec resume"},
		{"half an exit", wire.AppendFrame(nil, wire.KindExit, success)[:8], 125, "hostexec: the host side went away: "},
		{"started and gone", wire.AppendFrame(nil, wire.KindStarted, []byte{0, 0, 0}), 125, "hostexec: the host side went away: "},
		{"malformed", malformed, 125, "hostexec: the host side was not understood: malformed frame\n"},
		{"unknown kind", []byte{99, 0, 0, 0, 0}, 125, "hostexec: the host side was not understood: unknown kind"},
		{"not a host's kind", wire.AppendFrame(nil, wire.KindStdin, nil), 125, "hostexec: the host side was not understood: "},
		{"a frame too long", wire.AppendHeader(nil, wire.KindStdout, wire.MaxExec), 125, "hostexec: the host side was not understood: frame too long"},
		{"output that nobody asked for", wire.AppendFrame(nil, wire.KindStdout, []byte("x")), 125, "hostexec: the host side was not understood: "},
		{"started twice", wire.AppendFrame(wire.AppendFrame(nil, wire.KindStarted, []byte{0, 0, 0}), wire.KindStarted, []byte{2, 2, 2}),
			125, "hostexec: the host side was not understood: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := s.command("make")
			c.t = t
			c.Stderr = &c.stderr // a pipe, which is passed
			c.start()
			p := accept(t, s.sock)
			for _, f := range p.fds {
				f.Close()
			}
			p.Write(tt.frames)
			p.Close()
			c.wantExit(tt.code)
			if got := c.stderr.String(); !strings.HasPrefix(got, tt.stderr) {
				t.Errorf("stderr = %q, want it to begin with %q", got, tt.stderr)
			}
		})
	}
}

// Attack 144.
func TestArgumentsTooLong(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.Env = append(c.Env, "TEST_LONG=1")
	c.Stderr = &c.stderr
	c.start().wantExit(wire.CodeRefused)
	if got, want := c.stderr.String(), "hostexec: argument list too long\n"; got != want {
		t.Errorf("stderr = %q, want %q", got, want)
	}
}

// TestAsPid1 runs the shim as pid 1, which the kernel lets neither stop nor kill itself.
func TestAsPid1(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER // for users who are not root
	}
	c.start()
	p := s.accept()
	p.runs()
	p.send(wire.KindStopped, nil)
	p.wantSignal("CONT", wire.ToGroup)
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGTERM)
	p.wantSignal("TERM", wire.ToCommand)
	p.exit(wire.Exit{Outcome: wire.Signaled, Signal: "TERM", Code: 143})
	c.wantExit(143)
}
