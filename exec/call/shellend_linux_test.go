// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestShellJSONEnds checks that --json contains the output of a text and its end, if it did not end
// by itself.
func TestShellJSONEnds(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		options    []string
		meanwhile  func(*calltest.Caller)
		code       int
		why        string
	}{
		{"itself", "echo part; (exit 3)", nil, nil, 3, ""},
		{"timeout", "echo part; sleep 1000", []string{"--timeout", "2s"}, nil, 124, "Command timeout after 2000ms"},
		{"kill", "echo part; sleep 1000", nil, func(*calltest.Caller) { s.Kill(s.Running()[0].Request) }, 143, "a person ended it"},
		{"kill inside", "echo part; sleep 1000", nil, func(*calltest.Caller) { call.KillByContainer(s, s.Running()[0].Request) }, 143, "hostexec kill ended it"},
		{"signal", "echo part; sleep 1000", nil, func(c *calltest.Caller) { c.Send(t, wire.KindSignal, wire.AppendSignal(nil, "INT")) }, 130, "its caller got SIGINT"},
		{"killed by rm", "echo part; sleep 1000", nil, func(*calltest.Caller) {
			s.Shells.Remove("one")
			if err := s.Shells.Create("one", shell.Options{}); err != nil {
				t.Error(err)
			}
		}, 125, "the shell was removed"},
		{"death", "echo part; kill -KILL $$", nil, nil, 125, "shell terminated unexpectedly (exit code: 137)"},
	} {
		for _, verb := range []string{"exec", "start"} {
			if verb == "start" && tt.name == "death" {
				continue // a copy dies alone
			}
			c := calltest.Dial(t, s)
			c.Exec(t, wire.FDNull, append(append([]string{"hostexec", "session", verb, "--json"}, tt.options...), "one", "--", tt.text)...)
			if tt.meanwhile != nil {
				c.Read(t, wire.KindFallback)
				exectest.Eventually(t, "it runs", func() bool { return len(s.Running()) > 0 })
				tt.meanwhile(c)
			}
			c.Read(t, wire.KindExit)
			lines := strings.Split(strings.TrimSpace(c.Out.String()), "\n")
			var end struct {
				ExitCode *int   `json:"exit_code"`
				Error    string `json:"error"`
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.ExitCode == nil {
				t.Errorf("%s, %s: %v, stdout %q", tt.name, verb, err, c.Out.String())
				continue
			}
			if *end.ExitCode != tt.code || end.Error != tt.why || int(c.Exit.Code) != tt.code {
				t.Errorf("%s, %s: %q, exit %+v, want %d, %q", tt.name, verb, lines[len(lines)-1], c.Exit, tt.code, tt.why)
			}
			if early := strings.HasPrefix(tt.name, "kill") || tt.name == "signal"; !early && !strings.Contains(c.Out.String(), `part\n`) {
				t.Errorf("%s, %s: stdout %q lacks the output", tt.name, verb, c.Out.String())
			}
		}
	}
}

// TestInterruptHostText checks that the audit log has the exit code of a caller on the host that got a signal, also if
// the text still waits for its turn.
func TestInterruptHostText(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	log := logTo(t, s)
	if err := s.CreateShell("own", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		signal string
		queued bool
		code   int
	}{{"INT", false, 130}, {"TERM", false, 143}, {"HUP", false, 129}, {"QUIT", false, 131}, {"INT", true, 130}} {
		var request string
		o := shell.Output{Out: io.Discard, Err: io.Discard}
		interrupt := func(id string) {
			if request = id; s.InterruptText(id, "STOP") || s.InterruptText("00aa", tt.signal) || !s.InterruptText(id, tt.signal) {
				t.Errorf("%s: the wrong signals or requests are accepted", tt.signal)
			}
		}
		if tt.queued {
			o.Queued = interrupt
		} else {
			o.Started = func(id string, _ int) { interrupt(id) }
		}
		code, err := s.RunShell(t.Context(), "me", "own", shell.Command{Text: "sleep 1000"}, o)
		var killed *shell.KilledError
		if code != tt.code || !errors.As(err, &killed) || killed.Code != code || err.Error() != "its caller got SIG"+tt.signal {
			t.Errorf("%s: %d, %v, want %d", tt.signal, code, err, tt.code)
		}
		if b, err := os.ReadFile(log); !strings.Contains(string(b), fmt.Sprintf("request=%s signal=%s exit=%d ", request, tt.signal, tt.code)) {
			t.Errorf("%s: audit log: %v\n%s", tt.signal, err, b)
		}
	}
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "hostexec", "session", "exec", "own", "--", "sleep 1000")
	c.Read(t, wire.KindStarted)
	exectest.Eventually(t, "it runs", func() bool { return len(s.Running()) > 0 })
	if s.InterruptText(s.Running()[0].Request, "INT") {
		t.Error("a text of the container is ended")
	}
	s.Kill(s.Running()[0].Request)
	c.Read(t, wire.KindExit)
}

// logTo gives s an audit log, and returns its path.
func logTo(t *testing.T, s *call.Server) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "audit.log")
	a, err := audit.Open(log, audit.SessionInfo{}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	sc := *s.Config()
	sc.Audit = a
	s.SetConfig(&sc)
	return log
}

// TestHostText checks that a text started by the user on the host has an id, is counted, and can be
// ended there. The container neither sees nor ends it, and the audit log records its end.
func TestHostText(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	log := logTo(t, s)
	if err := s.CreateShell("own", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	run := func(c shell.Command, started func(string, int)) (int, error) {
		return s.RunShell(t.Context(), "me", "own", c, shell.Output{Out: io.Discard, Err: io.Discard, Started: started})
	}
	code, err := run(shell.Command{Text: "sleep 1000"}, func(id string, pid int) {
		all := s.Running()
		if len(all) != 1 || all[0].Request != id || all[0].PID != pid || pid == 0 {
			t.Errorf("running: %+v, want %s with pid %d", all, id, pid)
		}
		if c := calltest.Hostexec(t, s, "ps"); strings.Contains(c.Out.String(), id) {
			t.Errorf("the container sees %s", c.Out.String())
		}
		if c := calltest.Hostexec(t, s, "kill", id); c.Exit.Code != 1 || !strings.Contains(c.Exit.Text, job.ErrUnknown.Error()) {
			t.Errorf("the container ends it: %+v", c.Exit)
		}
		s.Kill(id)
	})
	var killed *shell.KilledError
	if code != 143 || !errors.As(err, &killed) || killed.Code != 143 || len(s.Running()) != 0 {
		t.Errorf("killed: %d, %v, running %v", code, err, s.Running())
	}
	var late *shell.TimeoutError
	if _, err := run(shell.Command{Text: "sleep 1000", Timeout: 50 * time.Millisecond}, nil); !errors.As(err, &late) {
		t.Errorf("late: %v", err)
	}
	if err := s.CreateShell("lost", shell.Options{Dir: "/nonexistent"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RunShell(t.Context(), "me", "lost", shell.Command{Text: "false"}, shell.Output{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Errorf("in a shell without its directory: %v", err)
	}
	b, err := os.ReadFile(log)
	if strings.Contains(string(b), "/nonexistent") || !strings.Contains(string(b), "cwd="+os.Getenv("HOME")) {
		t.Errorf("a START names a directory that does not exist, and where nothing ran:\n%s", b)
	}
	if err != nil || !strings.Contains(string(b), "exit=143") || !strings.Contains(string(b), "exit=124") || strings.Contains(string(b), "exit=0") {
		t.Errorf("audit log: %v\n%s", err, b)
	}
}
