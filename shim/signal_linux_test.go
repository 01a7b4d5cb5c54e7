// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

func TestSignalsAreForwarded(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	for _, f := range wire.Signals {
		c.Process.Signal(syscall.Signal(f.Number))
		p.wantSignal(f.Name, wire.ToCommand)
	}
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 3})
	c.wantExit(3)
}

// TestSignalsBeforeStarted checks that a signal before Started ends the shim and withdraws the request.
// After ^C the host is informed, so that it does not keep the question for a caller that does not return.
func TestSignalsBeforeStarted(t *testing.T) {
	s := newFakeHost(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		c := s.command("make").start()
		p := s.accept()
		listening(t, c.Process.Pid)
		c.Process.Signal(sig)
		if sig == syscall.SIGINT {
			p.wantSignal("INT", wire.ToCommand)
		}
		p.wantGone()
		c.wantSignal(sig)
	}
}

func TestNohup(t *testing.T) {
	s := newFakeHost(t)
	c := s.sh("trap '' HUP INT; exec $SHIM").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGHUP)
	c.Process.Signal(syscall.SIGINT)
	c.Process.Signal(syscall.SIGUSR1)
	p.wantSignal("USR1", wire.ToCommand)
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
}

// A caller that has blocked a signal does not keep it from the command.
func TestBlockedSignals(t *testing.T) {
	s := newFakeHost(t)
	c := s.sh("exec env --block-signal=TERM,USR1 $SHIM").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGTERM)
	p.wantSignal("TERM", wire.ToCommand)
	c.Process.Signal(syscall.SIGUSR1)
	p.wantSignal("USR1", wire.ToCommand)
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
}

// TestStopWithoutATerminal covers kill -TSTP for a call without a terminal. The command stops, then the
// shim stops. Continuing the shim continues the command.
func TestStopWithoutATerminal(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	for range 3 {
		c.Process.Signal(syscall.SIGTSTP)
		p.wantSignal("TSTP", wire.ToCommand)
		p.send(wire.KindStopped, nil)
		var st syscall.WaitStatus
		if _, err := syscall.Wait4(c.Process.Pid, &st, syscall.WUNTRACED, nil); err != nil || !st.Stopped() {
			t.Fatalf("wait: %#x, %v, want it stopped", st, err)
		}
		c.Process.Signal(syscall.SIGCONT)
		p.wantSignal("CONT", wire.ToCommand) // to the same target as TSTP, and once
	}
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 6})
	c.wantExit(6)
}

// TestCommandStopsItself checks a call without a terminal whose command stops itself. The shim goes on: it sees the end
// of the call, and it passes CONT on to the command.
func TestCommandStopsItself(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no controlling terminal
	c.start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	p.send(wire.KindStopped, nil)
	c.Process.Signal(syscall.SIGUSR1)
	p.wantSignal("USR1", wire.ToCommand) // without a CONT before it
	c.Process.Signal(syscall.SIGCONT)
	p.wantSignal("CONT", wire.ToCommand)
	p.send(wire.KindStopped, nil)
	p.exit(wire.Exit{Outcome: wire.TimedOut, Code: 124})
	c.wantExit(124)
}

// TestCommandStopsItselfAtATerminal checks that a shell with job control sees such a stop, although the shim has no
// descriptor of the terminal. In an orphaned group, where nobody continues jobs, the command goes on at once.
func TestCommandStopsItselfAtATerminal(t *testing.T) {
	s, y := newFakeHost(t), newTTY(t)
	y.on(s.sh(`exec 3>&1; set -m; $SHIM </dev/null >/dev/null 2>&1; echo stopped $? >&3; fg >&3; echo ended $? >&3`))
	p := s.accept()
	p.runs()
	p.send(wire.KindStopped, nil)
	y.shows("stopped 148")
	p.wantSignal("CONT", wire.ToGroup)
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 3})
	y.shows("ended 3")

	s, y = newFakeHost(t), newTTY(t)
	y.on(s.sh(`$SHIM </dev/null; echo ended $?`))
	p = s.accept()
	p.runs()
	p.send(wire.KindStopped, nil)
	p.wantSignal("CONT", wire.ToGroup)
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 4})
	y.shows("ended 4")
}

// TestLimitOfAStoppedCaller checks that a time limit ends a call that was stopped, as timeout(1) ends a stopped command.
func TestLimitOfAStoppedCaller(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("hostexec", "--timeout", "0.5", "make").start()
	p := s.accept()
	p.runs()
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGTSTP)
	p.wantSignal("TSTP", wire.ToCommand)
	p.send(wire.KindStopped, nil)
	stopped(t, c.Process.Pid)
	p.send(wire.KindNotice, nil)
	p.exit(wire.Exit{Outcome: wire.TimedOut, Code: 124})
	c.wantExit(124)
}

// TestSignalOvertakesStdin checks that a signal does not wait behind stdin that the command does not read.
func TestSignalOvertakesStdin(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.Stdin = open(t, "/dev/zero", 0)
	c.start()
	p := s.accept()
	p.started(wire.Copied, wire.Null, wire.Null)
	for n := 0; n < wire.Window; {
		_, b := p.next()
		n += len(b)
	}
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGINT)
	p.wantSignal("INT", wire.ToCommand)
	p.exit(wire.Exit{Outcome: wire.Signaled, Signal: "INT", Code: 130})
	c.wantSignal(syscall.SIGINT)
}

// TestWhoGetsASignal checks the target of signals. A terminal signals its whole foreground group, kill(1)
// only one process. If a terminal that is not raw is in the foreground, only the kind of signal
// distinguishes the two.
func TestWhoGetsASignal(t *testing.T) {
	tests := []struct {
		name string
		job  string // command line for a shell with job control
		raw  bool
		send func(y *tty, c *os.Process)
		want [2]string
	}{
		{"^C", "$SHIM </dev/null", false, func(y *tty, _ *os.Process) { y.keys("\x03") }, [2]string{"INT", wire.ToGroup}},
		{"^\\", "$SHIM </dev/null", false, func(y *tty, _ *os.Process) { y.keys("\x1c") }, [2]string{"QUIT", wire.ToGroup}},
		{"^Z", "$SHIM </dev/null", false, func(y *tty, _ *os.Process) { y.keys("\x1a") }, [2]string{"TSTP", wire.ToGroup}},
		{"a resize", "$SHIM </dev/null", false, func(y *tty, _ *os.Process) { y.resize(31, 91) }, [2]string{"WINCH", wire.ToGroup}},
		{"a hang-up", "$SHIM </dev/null", false, func(y *tty, _ *os.Process) { y.master.Close() }, [2]string{"HUP", wire.ToGroup}},
		{"kill -HUP", "$SHIM </dev/null", false, sends(syscall.SIGHUP), [2]string{"HUP", wire.ToCommand}},
		{"kill -TERM", "$SHIM </dev/null", false, sends(syscall.SIGTERM), [2]string{"TERM", wire.ToCommand}},
		{"kill -INT in the background", "$SHIM </dev/null & wait", false, sends(syscall.SIGINT), [2]string{"INT", wire.ToCommand}},
		{"kill -INT at a raw terminal", "$SHIM", true, sends(syscall.SIGINT), [2]string{"INT", wire.ToCommand}},
		{"timeout", "$SHIM </dev/null & exec sleep 1000", false, func(y *tty, c *os.Process) {
			c.Signal(syscall.SIGSTOP)
			stopped(y.t, c.Pid) // so that both signals are pending at once
			c.Signal(syscall.SIGTERM)
			c.Signal(syscall.SIGCONT)
		}, [2]string{"TERM", wire.ToGroup}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, y := newFakeHost(t), newTTY(t)
			y.on(s.sh("set -m; " + tt.job))
			p := s.accept()
			if tt.raw {
				p.started(wire.PTY, wire.PTY, wire.PTY)
				p.want(wire.KindWinsize, size(30, 90))
			} else {
				p.runs()
			}
			c := p.process()
			listening(t, c.Pid)
			tt.send(y, c)
			p.wantSignal(tt.want[0], tt.want[1])
		})
	}
}

func sends(sig syscall.Signal) func(*tty, *os.Process) {
	return func(_ *tty, c *os.Process) { c.Signal(sig) }
}
