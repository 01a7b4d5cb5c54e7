// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon is how long what a local process does at once may take on a busy machine.
const soon = 10 * time.Second

// TestIntegrationSignalsReachTheCommand sends the shim signals, which the command on the
// host gets under the same names.
func TestIntegrationSignalsReachTheCommand(t *testing.T) {
	const script = `for s in HUP INT QUIT TERM USR1 USR2 WINCH CONT ALRM ABRT SEGV XCPU SYS; do trap "echo got $s" $s; done
		echo ready; while read -t 0.05 x || [ $? -gt 128 ]; do :; done; exit 4`
	forEachUser(t, func(t *testing.T, c *Container) {
		call := c.Start(t, "hbash", "-c", script)
		want(t, "line", call.Line(t), "ready")
		for _, sig := range []string{
			"USR1", "USR2", "WINCH", "HUP", "INT", "QUIT", "TERM", "ALRM", "ABRT", "SEGV", "XCPU", "SYS", "CONT",
		} {
			call.Signal(t, sig)
			want(t, "line", call.Line(t), "got "+sig)
		}
		want(t, "code", call.Wait(t).Code, 4)
	})
}

// TestIntegrationSignalsKill sends signals to commands that do not catch them: the caller
// sees the same death as of a local command, and the host's process is gone. The last three signals
// are not forwarded: they end the caller, and by that the command.
func TestIntegrationSignalsKill(t *testing.T) {
	codes := map[string]int{
		"HUP": 129, "INT": 130, "TERM": 143, "USR1": 138, "ALRM": 142, "ABRT": 134, "TRAP": 133, "IO": 157,
		"XFSZ": 153, "PROF": 155, "RTMIN+3": 165,
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		for sig, code := range codes {
			call := c.Start(t, "hsh", "-c", `echo $$; exec sleep 1000`)
			p := call.Host(t)
			call.Signal(t, sig)
			want(t, sig+": code", call.Ended(t).Code, code)
			p.Ends(t, soon)
		}
	})
}

// TestIntegrationStop stops and continues a call without a terminal: a job of a shell,
// whose group has a parent that could continue it. Of others TSTP does not stop anything.
func TestIntegrationStop(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		call := c.Start(t, "bash", "-c", `set -m; hp pid & echo shim $!; wait -f $!`)
		a, b := call.Line(t), call.Line(t)
		if strings.HasPrefix(b, "shim") {
			a, b = b, a
		}
		shim, p := strings.TrimPrefix(a, "shim "), hold(t, atoi(t, b))
		state := func() string { return c.Sh(t, "grep ^State: /proc/$1/status", shim).Out }

		c.Sh(t, "kill -TSTP $1", shim)
		eventually(t, soon, "the host's command is stopped", func() bool { return p.State() == "T" })
		eventually(t, soon, "the shim is stopped", func() bool { return strings.Contains(state(), "T (stopped)") })
		c.Sh(t, "kill -CONT $1", shim)
		eventually(t, patience, "the host's command goes on", func() bool { return p.State() == "S" })
		c.Sh(t, "kill -TERM $1", shim)
		want(t, "code", call.Wait(t).Code, 143)
	})
}

// TestIntegrationInterruptEndsALoop types ^C while a shell's loop makes calls: the loop
// ends, because the shim dies of the signal as a local command would.
func TestIntegrationInterruptEndsALoop(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Shell(t)
		m.Type(t, "while :; do hsh -c 'echo tick; exec sleep 1000'; done\r")
		m.Expect(t, "tick\r\n")
		m.Type(t, "\x03")
		shown := m.Expect(t, "ready> ")
		want(t, "another tick", strings.Contains(shown, "tick"), false)
		m.Exit(t)
	})
}

// TestIntegrationInterruptEndsAScript is the same without job control: both the script
// and the call are in the terminal's foreground group.
func TestIntegrationInterruptEndsAScript(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Term(t, "bash", "-c", `for i in 1 2 3; do hsh -c 'echo tick; exec sleep 1000'; done; echo went on`)
		m.Expect(t, "tick\r\n")
		m.Type(t, "\x03")
		want(t, "code", m.Wait(t), 130)
		want(t, "it went on", strings.Contains(m.seen, "went on"), false)
	})
}

// TestIntegrationJobControl types ^Z and fg: the host's command stops and continues, and the shell
// has the terminal meanwhile.
func TestIntegrationJobControl(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Shell(t)
		m.Type(t, "hsh -c 'echo pid=$$=; exec cat'\r")
		p := hostPID(t, m)
		m.Type(t, "one\r")
		m.Expect(t, "one\r\none\r\n")
		m.Type(t, "\x1a")
		m.Expect(t, "Stopped")
		m.Expect(t, "ready> ")
		eventually(t, soon, "the host's command is stopped", func() bool { return p.State() == "T" })
		want(t, "the shell has the terminal", m.Do(t, "echo between"), "between\r\n")
		m.Type(t, "fg\r")
		m.Expect(t, "exec cat'\r\n")
		eventually(t, patience, "the host's command goes on", func() bool { return p.State() == "S" })
		m.Type(t, "two\r")
		m.Expect(t, "two\r\ntwo\r\n")
		m.Type(t, "\x04")
		m.Expect(t, "ready> ")
		p.Ends(t, soon)
		m.Exit(t)
	})
}

// hostPID takes hold of the host process that a command in the terminal names "pid=N=".
func hostPID(t testing.TB, m *Term) *Proc {
	t.Helper()
	m.Expect(t, "\r\npid=")
	pid := strings.TrimSuffix(m.Expect(t, "="), "=")
	return hold(t, atoi(t, pid))
}

// TestIntegrationIgnoredSignals starts a call from a shell that ignores signals and
// blocks none: the host's command has the host's dispositions, not the watcher's.
func TestIntegrationIgnoredSignals(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		r := c.Exec(t, "hcat", "/proc/self/status")
		for _, field := range []string{"SigIgn", "SigBlk", "SigCgt"} {
			if !strings.Contains(r.Out, field+":\t0000000000000000\n") {
				t.Errorf("%s is not empty:\n%s", field, r.Out)
			}
		}
	})
}

// TestIntegrationNohup calls from a process that ignores HUP, as under nohup: the call continues.
func TestIntegrationNohup(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		call := c.Start(t, "nohup", "hp", "pid", "eof")
		p := call.Host(t)
		call.Signal(t, "HUP")
		call.Signal(t, "WINCH") // by its answer the HUP would have been there
		if p.Gone(200 * time.Millisecond) {
			t.Error("HUP ended a command under nohup")
		}
		p.Signal(t, syscall.SIGTERM)
		want(t, "code", call.Ended(t).Code, 143)
	})
}
