// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

func TestSignals(t *testing.T) {
	for _, name := range []Signal{"HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH"} {
		t.Run(name, func(t *testing.T) {
			run := launch(t, newHost(t), sh(t, "trap 'echo got; exit 6' "+name+"; echo ready; while :; do read x; done"), nil)
			run.out.expect(t, "ready\n")
			run.signals <- Delivery{Signal: "NONSENSE"}
			run.signals <- Delivery{Signal: name}
			run.out.expect(t, "got\n")
			if st, err := run.wait(t); st.Code != 6 || err != nil {
				t.Errorf("Run = %+v, %v, want 6", st, err)
			}
		})
	}
}

// TestSignalGroup checks that a signal goes to the command alone, or to its whole group as from a
// terminal.
func TestSignalGroup(t *testing.T) {
	for name, died := range map[Signal]string{"USR1": "138", "TERM": "143", "HUP": "129"} {
		for group, code := range map[bool]string{false: "0", true: died} {
			run := launch(t, newHost(t), sh(t, "trap 'echo got' $0; sh -c 'echo ready; exec cat'; echo child $?", name), nil)
			run.out.expect(t, "ready\n")
			run.signals <- Delivery{name, group}
			if !group {
				run.signals <- Delivery{Signal: "NONSENSE"} // accepted only after the previous signal was sent
				run.in.Close()
			}
			shown := run.out.expect(t, "child "+code+"\n")
			if _, err := run.wait(t); !strings.Contains(shown, "got\n") || err != nil {
				t.Errorf("%s, group %v: %q, %v, want got", name, group, shown, err)
			}
		}
	}
}

func TestStopAndContinue(t *testing.T) {
	tests := []struct{ name, script string }{
		{"TSTP, not caught", "echo ready; read x; echo $x"},
		{"a group", "(echo ready; read x; echo $x)"},
		{"stops itself", "kill -STOP $$; echo ready; read x; echo $x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := launch(t, newHost(t), sh(t, tt.script), nil)
			if tt.name != "stops itself" {
				run.out.expect(t, "ready\n")
				run.signals <- Delivery{"TSTP", true}
			}
			<-run.stopped
			run.signals <- Delivery{"CONT", true}
			run.typed(t, "on\n")
			run.out.expect(t, "on\n")
			if st, err := run.wait(t); st.Code != 0 || err != nil {
				t.Errorf("Run = %+v, %v, want 0", st, err)
			}
		})
	}
}

// TestStopCaught checks that a command that catches TSTP receives it.
func TestStopCaught(t *testing.T) {
	run := launch(t, newHost(t), sh(t, "trap 'echo got; exit 7' TSTP; echo ready; while :; do read x; done"), nil)
	run.out.expect(t, "ready\n")
	run.signals <- Delivery{"TSTP", true}
	run.out.expect(t, "got\n")
	if st, err := run.wait(t); st.Code != 7 || err != nil {
		t.Errorf("Run = %+v, %v, want 7", st, err)
	}
}

var errHungUp = errors.New("the caller hung up")

// TestCancel checks that cancellation ends the whole process tree before Run returns.
func TestCancel(t *testing.T) {
	tests := []struct {
		name, script string
		tty          bool
	}{
		{"alone", "echo $$; exec sleep 1000", false},
		{"on a terminal", "echo $$; exec sleep 1000", true},
		{"in a session", "setsid sh -c 'echo $$; sleep 1000' & wait", false},
		{"in a session, on a terminal", "setsid sh -c 'echo $$; sleep 1000' & wait", true},
		{"double fork", "(setsid sh -c 'echo $$; sleep 1000' &); sleep 1000", false},
		{"ignores TERM", "trap '' TERM; echo $$; while :; do sleep 1000; done", false},
		{"ignores TERM on a terminal", "trap '' TERM HUP; echo $$; while :; do sleep 1000; done", true},
		{"stopped", "echo $$; kill -STOP $$", false},
		{"writes what nobody takes", "echo $$; exec yes", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w *Winsize
			if tt.tty {
				w = &Winsize{24, 80, 0, 0}
			}
			run := launch(t, newHost(t), sh(t, tt.script), w)
			pid, err := strconv.Atoi(strings.TrimSpace(run.out.expect(t, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == "stopped" {
				<-run.stopped
			}
			leader := <-run.pid
			run.cancel(errHungUp)
			if _, err := run.wait(t); err != errHungUp {
				t.Errorf("Run = %v, want %v", err, errHungUp)
			}
			for _, pid := range []int{pid, leader} {
				exectest.Eventually(t, "process "+strconv.Itoa(pid)+" is reaped", func() bool { return !exectest.ProcessExists(pid) })
			}
		})
	}
}

// TestCleanUp checks that a command has time to clean up, also on a terminal.
func TestCleanUp(t *testing.T) {
	for _, w := range []*Winsize{nil, {24, 80, 0, 0}} {
		h := newHost(t)
		h.Grace = time.Minute
		done := exectest.FIFO(t)
		run := launch(t, h, sh(t, "trap 'echo clean > $0; exit 1' TERM; echo ready; while :; do sleep 0.01; done", done), w)
		run.out.expect(t, "ready")
		run.cancel(errHungUp)
		if got, err := os.ReadFile(done); string(got) != "clean\n" {
			t.Errorf("the trap wrote %q, %v, want clean", got, err)
		}
		if _, err := run.wait(t); err != errHungUp {
			t.Errorf("Run = %v, want %v", err, errHungUp)
		}
	}
}

// TestClose checks that Close ends the processes that calls left behind.
func TestClose(t *testing.T) {
	for _, w := range []*Winsize{nil, {24, 80, 0, 0}} {
		h, closeHost := openHost(t)
		run := launch(t, h, sh(t, "(setsid env -i sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1000; done' &); read x"), w)
		pid, err := strconv.Atoi(strings.TrimSpace(run.out.expect(t, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		run.typed(t, "\n")
		if _, err := run.wait(t); err != nil {
			t.Error(err)
		}
		if !exectest.ProcessExists(pid) {
			t.Errorf("process %d ended with its command", pid)
		}
		closeHost()
		if state := stateOf(pid); state != "" && state != "Z" {
			t.Errorf("process %d is left in state %s", pid, state)
		}
	}
}
