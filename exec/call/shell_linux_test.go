// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestShellInFreshContainer: a rule that is to run a text in a fresh container runs it nowhere.
//
// Attack 188.
func TestShellInFreshContainer(t *testing.T) {
	s := calltest.NewShellServer(t, &policy.Policy{
		Commands: []policy.Command{{Name: policy.Shell, Action: policy.Allow}},
		Rules:    map[string]policy.Ruleset{policy.Shell: {Place: policy.Place{Image: "img"}}},
	})
	s.Config().InContainer = func(policy.Place, string, string) (call.Runner, string, error) { return s.Runner, "/", nil }
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	c := calltest.HostexecSession(t, s, "exec", "one", "--", "echo host")
	if c.Out.String() != "" || c.Exit.Outcome == wire.Exited || !strings.Contains(c.Exit.Text, "where=container is not for shells") {
		t.Errorf("it says %q, %+v", c.Out.String(), c.Exit)
	}
}

// TestShellUntrustedFiles checks that a shell started by the user on the host gets no value from
// the container.
//
// Attack 189.
func TestShellUntrustedFiles(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	run := func(name string) (string, error) {
		var out bytes.Buffer
		_, err := s.RunShell(t.Context(), "me", name, shell.Command{Text: "echo ran $X"}, shell.Output{Out: &out, Err: &out})
		return out.String(), err
	}
	for _, name := range []string{"env", "dir"} {
		words := []string{"create", "--env", "X=planted", name}
		if name == "dir" {
			words = []string{"create", "--cwd", "/", name}
		}
		if c := calltest.HostexecSession(t, s, words...); c.Exit.Code != 0 {
			t.Fatalf("create: %+v", c.Exit)
		}
		var untrusted *shell.UntrustedError
		if out, err := run(name); !errors.As(err, &untrusted) || out != "" {
			t.Errorf("%s: it runs: %q, %v", name, out, err)
		}
	}
	if c := calltest.HostexecSession(t, s, "exec", "env", "--", ":"); c.Exit.Code != 0 {
		t.Fatalf("exec: %+v", c.Exit)
	}
	if out, err := run("env"); err != nil || out != "ran planted\n" {
		t.Errorf("once it lives: %q, %v", out, err)
	}
	if err := s.CreateShell("own", shell.Options{Env: []string{"X=own"}, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	if out, err := run("own"); err != nil || out != "ran own\n" {
		t.Errorf("one's own: %q, %v", out, err)
	}
}

// TestShellDefaultDir checks a shell that the container created and the user starts on the host: it
// starts in the container's directory without the container's values. Another directory of the
// caller, or a link that has replaced this one, needs a decision.
//
// Attack 189.
func TestShellDefaultDir(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	sc := *s.Config()
	sc.Environ = os.Environ()
	s.SetConfig(&sc)
	work := t.TempDir()
	home := filepath.Join(work, "d")
	for _, d := range []string{home, filepath.Join(work, "other")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	made := func(name, cwd string, words ...string) (string, error) {
		t.Helper()
		c := calltest.Dial(t, s)
		c.Cwd = cwd
		c.Exec(t, wire.FDFile, append(append([]string{"hostexec", "session", "create"}, words...), name)...)
		if c.Read(t, wire.KindExit); c.Exit.Code != 0 {
			t.Fatalf("create: %+v", c.Exit)
		}
		if name == "swapped" {
			if err := errors.Join(os.Rename(home, home+"1"), os.Symlink(filepath.Join(work, "other"), home)); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		_, err := s.RunShell(t.Context(), "me", name, shell.Command{Text: "pwd -P"}, shell.Output{Out: &out, Err: &out})
		return strings.TrimSpace(out.String()), err
	}
	if out, err := made("nothing-mounted", "/wherever"); err != nil || out == "" {
		t.Errorf("where nothing is mounted: %q, %v", out, err)
	}
	calltest.Mount(t, s, mount.Default{}, mount.Point{Target: "/w", Source: work, Bind: true})
	mounted := *s.Config() // a copy: the server may still read sc
	mounted.Workdir = "/w/d"
	s.SetConfig(&mounted)
	if out, err := made("usual", "/w/d"); err != nil || out != home {
		t.Errorf("where it works: %q, %v, want %q", out, err, home)
	}
	for name, how := range map[string][]string{"other": {"/w/other"}, "said": {"/w/d", "--cwd", "/w/d"}, "env": {"/w/d", "--env", "X=1"}} {
		var untrusted *shell.UntrustedError
		if out, err := made(name, how[0], how[1:]...); !errors.As(err, &untrusted) {
			t.Errorf("%s: it runs: %q, %v", name, out, err)
		}
	}
	if out, err := made("swapped", "/w/d"); err != nil || out != os.Getenv("HOME") {
		t.Errorf("a link in its place: %q, %v, want it in %q", out, err, os.Getenv("HOME"))
	}
}

// TestShellsOfOthers checks that a caller without permission for shells sees none and ends none.
//
// Attacks 44, 193.
func TestShellsOfOthers(t *testing.T) {
	ruled := &policy.Policy{Rules: map[string]policy.Ruleset{policy.Shell: {Rules: []policy.Rule{{ID: "x", Do: policy.Ask}}}}}
	for name, tt := range map[string]struct {
		policy *policy.Policy
		may    bool
	}{
		"nothing said":  {&policy.Policy{}, false},
		"denied":        {calltest.ShellPolicy(policy.Deny), false},
		"asked":         {calltest.ShellPolicy(policy.Ask), true},
		"allowed":       {calltest.ShellPolicy(policy.Allow), true},
		"ruled":         {ruled, true},
		"ruled, denied": {&policy.Policy{Commands: calltest.ShellPolicy(policy.Deny).Commands, Rules: ruled.Rules}, false},
	} {
		s := calltest.NewShellServer(t, tt.policy)
		if err := s.CreateShell("mine", shell.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(calltest.HostexecSession(t, s, "ls").Out.String(), "mine"); got != tt.may {
			t.Errorf("%s: it is listed: %v", name, got)
		}
		if c := calltest.HostexecSession(t, s, "rm", "mine"); c.Exit.Code != 0 {
			t.Errorf("%s: rm: %+v", name, c.Exit)
		}
		if got := len(s.Shells.List()) == 0; got != tt.may {
			t.Errorf("%s: it is removed: %v", name, got)
		}
	}
}

// TestShellStart: where a shell starts is decided with each text, unless it is the caller's.
//
// Attack 190.
func TestShellStart(t *testing.T) {
	rule := policy.Rule{ID: "pwd", Do: policy.Allow, Accept: true, Argv: []policy.Element{{Kind: policy.KindWord, Words: []string{"pwd"}}}}
	if err := rule.Compile(); err != nil {
		t.Fatal(err)
	}
	s := calltest.NewShellServer(t, &policy.Policy{Rules: map[string]policy.Ruleset{policy.Shell: {Rules: []policy.Rule{rule}}}})
	work, other := t.TempDir(), t.TempDir()
	calltest.Mount(t, s, mount.Default{}, mount.Point{Target: "/w", Source: work, Bind: true})
	calltest.HostexecSession(t, s, "create", "--cwd", "/w", "ours")
	calltest.HostexecSession(t, s, "create", "--cwd", other, "theirs")
	if c := calltest.HostexecSession(t, s, "exec", "ours", "--", "pwd"); c.Out.String() != work+"\n" {
		t.Errorf("below a mount: %q, %+v", c.Out.String(), c.Exit)
	}
	c := calltest.HostexecSession(t, s, "exec", "theirs", "--", "pwd")
	if c.Out.String() != "" || c.Exit.Outcome != wire.Refused {
		t.Errorf("elsewhere: %q, %+v", c.Out.String(), c.Exit)
	}
}

// TestShellSwapped checks that a text runs in the directory that was decided on, even if another
// has replaced it.
//
// Attack 191.
func TestShellSwapped(t *testing.T) {
	s := calltest.NewShellServer(t, &policy.Policy{Commands: []policy.Command{{Name: policy.Shell, Action: policy.Allow}}})
	s.Config().Policy.Commands[0].Path = "" // to be looked for by Find, once the directory is held
	work := t.TempDir()
	calltest.Mount(t, s, mount.Default{}, mount.Point{Target: "/w", Source: work, Bind: true})
	name, swap := filepath.Join(work, "d"), false
	sc := *s.Config()
	find := sc.Find
	sc.Find = func(program string) (string, bool) {
		if swap {
			os.Rename(name, name+"1")
			os.Symlink("/", name)
		}
		return find(program)
	}
	s.SetConfig(&sc)
	for _, tt := range []struct {
		create, exec []string
		out, err     string
	}{
		{[]string{"create", "--cwd", "/w/d", "a"}, []string{"exec", "a", "--", "pwd -P"}, name + "1\n", ""},
		{[]string{"create", "--cwd", work, "b"}, []string{"exec", "--cwd", "/w/d", "b", "--", "pwd -P"}, "", "Failed to change directory to " + name + "\n"},
	} {
		os.Remove(name)
		os.Remove(name + "1")
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		calltest.HostexecSession(t, s, tt.create...)
		swap = true
		c := calltest.HostexecSession(t, s, tt.exec...)
		swap = false
		if c.Out.String() != tt.out || c.Err.String() != tt.err {
			t.Errorf("%q: %q, %q, %+v", tt.exec, c.Out.String(), c.Err.String(), c.Exit)
		}
	}
}

// TestShellLate checks that the time limit of a call includes the wait for a person's answer and
// the text.
func TestShellLate(t *testing.T) {
	for _, action := range []policy.Action{policy.Ask, policy.Allow} {
		s := calltest.NewShellServer(t, calltest.ShellPolicy(action))
		s.Queue = &approval.Queue{WaitAlways: true}
		calltest.HostexecSession(t, s, "create", "one")
		c := calltest.Dial(t, s)
		c.Env = []string{"HOSTEXEC_TIMEOUT=300ms"}
		c.Exec(t, wire.FDFile, "hostexec", "session", "exec", "one", "--", "sleep 1000")
		c.Read(t, wire.KindExit)
		if c.Exit.Code != 124 || !strings.Contains(c.Exit.Text, "300ms") {
			t.Errorf("%v: %+v", action, c.Exit)
		}
	}
}
