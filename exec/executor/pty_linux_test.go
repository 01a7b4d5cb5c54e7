// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

func size() *Winsize { return &Winsize{Rows: 40, Cols: 100} }

// Attack 97.
func TestTerminal(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"tty", "tty | grep -c ^/dev/pts/", "1\r\n"},
		{"size", "stty size", "40 100\r\n"},
		{"controlling", "echo x > /dev/tty", "x\r\n"},
		{"2 is the terminal", "[ -t 2 ] && echo x >&2", "x\r\n"},
		{"ps", `[ "$(ps -o tty= -p $$)" = "$(tty | cut -c6-)" ] && echo same`, "same\r\n"},
		{"foreground", `[ "$(ps -o tpgid= -p $$)" -eq $$ ] && echo fg`, "fg\r\n"},
		{"utf8", "stty -a | grep -o ' iutf8'", " iutf8\r\n"},
		{"descriptors", "ls -x /proc/$$/fd", "0  1  2\r\n"},
		{"privileges", "grep -c NoNewPrivs:.1 /proc/$$/status", "1\r\n"},
		{"signals", "grep -cE 'Sig(Blk|Ign):.0000000000000000' /proc/self/status", "2\r\n"},
		{"name", "echo $0", "sh\r\n"},
	}
	h := newHost(t)
	for _, tt := range tests {
		var out bytes.Buffer
		s := none()
		s.TTY, s.Out = size(), &out
		st, err := h.Run(context.Background(), sh(t, tt.script+"; exit 9"), s)
		if out.String() != tt.want || st.Code != 9 || err != nil {
			t.Errorf("%s: %q, %+v, %v, want %q, 9", tt.name, out.String(), st, err, tt.want)
		}
	}
}

func TestTerminalSeparateStderr(t *testing.T) {
	var out, errs bytes.Buffer
	s := none()
	s.TTY, s.Out, s.Err = size(), &out, &errs
	st, err := newHost(t).Run(context.Background(), sh(t, "echo out; echo err >&2"), s)
	if out.String() != "out\r\n" || errs.String() != "err\n" || err != nil {
		t.Errorf("terminal %q, stderr %q, %+v, %v", out.String(), errs.String(), st, err)
	}
}

func TestTerminalOutput(t *testing.T) {
	h := newHost(t)
	for _, n := range []int{1, 100, 5000} {
		var out bytes.Buffer
		s := none()
		s.TTY, s.Out = size(), &out
		c := sh(t, "i=0; while [ $i -lt $0 ]; do echo line; i=$((i+1)); done", itoa(n))
		if _, err := h.Run(context.Background(), c, s); err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat("line\r\n", n); out.String() != want {
			t.Errorf("%d bytes came, want %d", out.Len(), len(want))
		}
	}
}

func TestResize(t *testing.T) {
	run := launch(t, newHost(t), sh(t, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"), size())
	run.out.expect(t, "ready\r\n")
	run.resize <- Winsize{Rows: 50, Cols: 132}
	run.out.expect(t, "50 132\r\n")
	run.wait(t)
}

func TestKeys(t *testing.T) {
	tests := []struct {
		name, keys string
		want       Signal
	}{{"^C", "\x03", "INT"}, {"^\\", "\x1c", "QUIT"}}
	for _, tt := range tests {
		run := launch(t, newHost(t), sh(t, "ulimit -c 0; echo ready; exec sleep 1000"), size())
		run.out.expect(t, "ready")
		run.typed(t, tt.keys)
		if st, err := run.wait(t); st.Signal != tt.want || err != nil {
			t.Errorf("%s: %+v, %v, want %s", tt.name, st, err, tt.want)
		}
	}
}

// Attack 102.
func TestPassword(t *testing.T) {
	run := launch(t, newHost(t), sh(t, "stty -echo; echo ask; read p; stty echo; echo; echo got $p"), size())
	run.out.expect(t, "ask\r\n")
	run.typed(t, "secret\n")
	if shown := run.out.expect(t, "got secret\r\n"); strings.Contains(shown, "secret") {
		t.Errorf("the terminal shows %q", shown)
	}
	run.wait(t)
}

// TestSuspend checks that ^Z stops the command's group and notifies the caller, and that CONT
// continues it.
func TestSuspend(t *testing.T) {
	run := launch(t, newHost(t), sh(t, "echo ready; read x; echo got $x; read x; echo got $x"), size())
	run.out.expect(t, "ready")
	for _, word := range []string{"one", "two"} {
		run.typed(t, "\x1a")
		<-run.stopped
		run.signals <- Delivery{"CONT", true}
		run.typed(t, word+"\n")
		run.out.expect(t, "got "+word)
	}
	if st, err := run.wait(t); st.Code != 0 || err != nil {
		t.Errorf("Run = %+v, %v, want 0", st, err)
	}
}

func TestTerminalSignal(t *testing.T) {
	for _, name := range []Signal{"HUP", "TERM", "USR1", "WINCH", "TSTP"} {
		run := launch(t, newHost(t), sh(t, "trap 'echo got; exit 6' "+name+"; echo ready; while :; do read x; done"), size())
		run.out.expect(t, "ready")
		run.signals <- Delivery{Signal: name}
		run.out.expect(t, "got")
		if st, err := run.wait(t); st.Code != 6 || err != nil {
			t.Errorf("%s: %+v, %v, want 6", name, st, err)
		}
	}
}

// TestJobControl checks job control of an interactive shell on the terminal.
func TestJobControl(t *testing.T) {
	c := sh(t, "")
	c.Path, c.Args = "/bin/bash", []string{"bash", "--norc", "--noprofile", "-i"}
	c.Env = append(c.Env, "PS1=$ ", "HISTFILE=")
	run := launch(t, newHost(t), c, size())
	run.out.expect(t, "$ ")
	run.typed(t, "sh -c 'trap \"echo back\" CONT; trap \"exit 3\" INT; echo go; while :; do read x; done'\n")
	run.out.expect(t, "go\r\n")
	run.typed(t, "\x1a")
	run.out.expect(t, "Stopped")
	run.typed(t, "fg\n")
	run.out.expect(t, "back\r\n")
	run.typed(t, "\x03")
	run.out.expect(t, "$ ")
	run.typed(t, "sh -c 'echo $((40+2)); exec cat'\n")
	run.out.expect(t, "42\r\n")          // the command is in the foreground
	run.signals <- Delivery{"INT", true} // like a key on the caller's terminal
	run.out.expect(t, "$ ")
	run.typed(t, "exit 8\n")
	if st, err := run.wait(t); st.Code != 8 || err != nil {
		t.Errorf("Run = %+v, %v, want 8", st, err)
	}
}

// TestTerminalLeftBehind checks that a process left behind on the terminal gets no HUP, and can
// still write.
func TestTerminalLeftBehind(t *testing.T) {
	h := newHost(t)
	wake, alive := exectest.FIFO(t), exectest.FIFO(t)
	run := launch(t, h, sh(t, "exec 3<>$0; (read x <&3; head -c 1000000 /dev/zero; echo alive > $1) & echo hi", wake, alive), size())
	run.out.expect(t, "hi\r\n")
	if st, err := run.wait(t); st.Code != 0 || err != nil {
		t.Errorf("Run = %+v, %v, want 0", st, err)
	}
	if err := os.WriteFile(wake, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(alive); string(got) != "alive\n" || err != nil {
		t.Errorf("the child that was left says %q, %v, want alive", got, err)
	}
}
