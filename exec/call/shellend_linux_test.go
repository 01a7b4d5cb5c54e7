// SPDX-License-Identifier: Apache-2.0

package call

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestShellJSONEnds: --json tells what a text wrote, and how it ended, when it did not end by
// itself.
func TestShellJSONEnds(t *testing.T) {
	s := shells(t, shellPolicy(policy.Allow))
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		options    []string
		meanwhile  func(*caller)
		code       int
		why        string
	}{
		{"itself", "echo part; (exit 3)", nil, nil, 3, ""},
		{"timeout", "echo part; sleep 1000", []string{"--timeout", "300ms"}, nil, 124, "Command timeout after 300ms"},
		{"kill", "echo part; sleep 1000", nil, func(*caller) { s.Kill(s.Running()[0].Request) }, 143, errKilled.Error()},
		{"kill inside", "echo part; sleep 1000", nil, func(*caller) { s.kill(s.Running()[0].Request, errKilledInside) }, 143, "hostexec kill ended it"},
		{"signal", "echo part; sleep 1000", nil, func(c *caller) { c.send(t, wire.KindSignal, wire.AppendSignal(nil, "INT")) }, 130, "its caller got SIGINT"},
		{"death", "echo part; kill -KILL $$", nil, nil, 125, "shell terminated unexpectedly (exit code: 137)"},
	} {
		for _, verb := range []string{"exec", "start"} {
			if verb == "start" && tt.name == "death" {
				continue // a copy dies alone
			}
			c := dial(t, s)
			c.exec(t, wire.FDNull, append(append([]string{"hostexec", "session", verb, "--json"}, tt.options...), "one", "--", tt.text)...)
			if tt.meanwhile != nil {
				c.read(t, wire.KindStarted)
				exectest.Eventually(t, "it runs", func() bool { return len(s.Running()) > 0 })
				tt.meanwhile(c)
			}
			c.read(t, wire.KindExit)
			lines := strings.Split(strings.TrimSpace(c.out.String()), "\n")
			var end struct {
				ExitCode *int   `json:"exit_code"`
				Error    string `json:"error"`
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.ExitCode == nil {
				t.Errorf("%s, %s: %v, stdout %q", tt.name, verb, err, c.out.String())
				continue
			}
			if *end.ExitCode != tt.code || end.Error != tt.why || int(c.exit.Code) != tt.code {
				t.Errorf("%s, %s: %q, exit %+v, want %d, %q", tt.name, verb, lines[len(lines)-1], c.exit, tt.code, tt.why)
			}
			if early := strings.HasPrefix(tt.name, "kill") || tt.name == "signal"; !early && !strings.Contains(c.out.String(), `part\n`) {
				t.Errorf("%s, %s: stdout %q lacks the output", tt.name, verb, c.out.String())
			}
		}
	}
}

// TestKillAny: in the container kill ends whatever ps lists, and nothing of the host's person.
func TestKillAny(t *testing.T) {
	p := shellPolicy(policy.Allow)
	p.Commands = append(p.Commands, policy.Command{Name: "sh", Action: policy.Allow, Path: "/bin/sh"})
	s := shells(t, p)
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"hostexec", "session", "exec", "one", "--", "sleep 1000"},
		{"hostexec", "session", "start", "one", "--", "sleep 1000"},
		{"sh", "-c", "sleep 1000; :"},
	} {
		c := dial(t, s)
		c.exec(t, wire.FDNull, words...)
		told := make(chan struct{})
		// ends with the call, which kill below ends.
		go func() { defer close(told); c.read(t, wire.KindExit) }()
		exectest.Eventually(t, "it runs", func() bool { return len(s.Running()) > 0 })
		id := s.Running()[0].Request
		if k := hostexec(t, s, "kill", "-s", "HUP", id); k.exit.Code != codeNo || !strings.Contains(k.exit.Text, "signals from its caller only") {
			t.Errorf("%q: kill -s: %+v", words, k.exit)
		}
		if k := hostexec(t, s, "kill", id[:8]); k.exit.Code != 0 || k.out.String() != id+"\n" || len(s.Running()) > 0 {
			t.Errorf("%q: kill: %q, %+v", words, k.out.String(), k.exit)
		}
		<-told
		if c.exit.Signal != "TERM" || c.exit.Outcome != wire.Signaled {
			t.Errorf("%q: its caller is told %+v", words, c.exit)
		}
	}
}

// TestHostText: a text of the host's person has an id, is counted, and can be ended; the
// container neither sees nor ends it. The audit log says how it ended.
func TestHostText(t *testing.T) {
	s := shells(t, shellPolicy(policy.Allow))
	log := filepath.Join(t.TempDir(), "audit.log")
	a, err := audit.Open(log, audit.SessionInfo{}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	sc := *s.State()
	sc.Audit = a
	s.SetState(&sc)
	if err := s.CreateShell("own", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	run := func(c shell.Command, started func(string, int)) (int, error) {
		return s.RunShell(t.Context(), "me", "own", c, false, shell.Output{Out: io.Discard, Err: io.Discard, Started: started})
	}
	code, err := run(shell.Command{Text: "sleep 1000"}, func(id string, pid int) {
		all := s.Running()
		if len(all) != 1 || all[0].Request != id || all[0].PID != pid || pid == 0 {
			t.Errorf("running: %+v, want %s with pid %d", all, id, pid)
		}
		if c := hostexec(t, s, "ps"); strings.Contains(c.out.String(), id) {
			t.Errorf("the container sees %s", c.out.String())
		}
		if c := hostexec(t, s, "kill", id); c.exit.Code != codeNo || !strings.Contains(c.exit.Text, job.ErrUnknown.Error()) {
			t.Errorf("the container ends it: %+v", c.exit)
		}
		s.Kill(id)
	})
	if code != 143 || err != nil || len(s.Running()) != 0 {
		t.Errorf("killed: %d, %v, running %v", code, err, s.Running())
	}
	var late *shell.TimeoutError
	if _, err := run(shell.Command{Text: "sleep 1000", Timeout: 50 * time.Millisecond}, nil); !errors.As(err, &late) {
		t.Errorf("late: %v", err)
	}
	b, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(b), "exit=143") || !strings.Contains(string(b), "exit=124") || strings.Contains(string(b), "exit=0") {
		t.Errorf("audit log: %v\n%s", err, b)
	}
}
