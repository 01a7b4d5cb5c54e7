// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

func TestSignalsAreForwarded(t *testing.T) {
	s := newStage(t)
	c := s.command("make").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	for _, f := range forwarded {
		c.Process.Signal(f.sig)
		p.want(wire.KindSignal, f.name)
	}
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 3})
	c.wantExit(3)
}

// Until the command runs a signal is about the shim: leaving withdraws the request. Of ^C
// the host is told, so that it keeps no place for a caller that does not come back.
func TestSignalsBeforeStarted(t *testing.T) {
	s := newStage(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		c := s.command("make").start()
		p := s.accept()
		listening(t, c.Process.Pid)
		c.Process.Signal(sig)
		if sig == syscall.SIGINT {
			p.want(wire.KindSignal, "INT")
		}
		p.wantGone()
		c.wantSignal(sig)
	}
}

func TestNohup(t *testing.T) {
	s := newStage(t)
	c := s.sh("trap '' HUP INT; exec $SHIM").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGHUP)
	c.Process.Signal(syscall.SIGINT)
	c.Process.Signal(syscall.SIGUSR1)
	p.want(wire.KindSignal, "USR1")
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
}

// kill -TSTP of a call without a terminal: the command stopped, so the shim stops, and
// takes the command along when it goes on.
func TestStopWithoutATerminal(t *testing.T) {
	s := newStage(t)
	c := s.command("make").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	for range 3 {
		c.Process.Signal(syscall.SIGTSTP)
		p.want(wire.KindSignal, "TSTP")
		p.send(wire.KindStopped, nil)
		var st syscall.WaitStatus
		if _, err := syscall.Wait4(c.Process.Pid, &st, syscall.WUNTRACED, nil); err != nil || !st.Stopped() {
			t.Fatalf("wait: %#x, %v, want it stopped", st, err)
		}
		c.Process.Signal(syscall.SIGCONT)
		p.want(wire.KindSignal, "CONT") // once as it goes on,
		p.want(wire.KindSignal, "CONT") // once as it is told to
	}
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 6})
	c.wantExit(6)
}

// A signal does not wait behind stdin that the command does not read.
func TestSignalOvertakesStdin(t *testing.T) {
	s := newStage(t)
	c := s.command("make")
	c.Stdin = open(t, "/dev/zero", 0)
	c.start()
	p := s.accept()
	p.started(wire.Pumped, wire.Null, wire.Null)
	for n := 0; n < wire.Window; {
		_, b := p.next()
		n += len(b)
	}
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGINT)
	p.want(wire.KindSignal, "INT")
	p.exit(wire.Exit{Outcome: wire.Signaled, Signal: "INT", Code: 130})
	c.wantSignal(syscall.SIGINT)
}
