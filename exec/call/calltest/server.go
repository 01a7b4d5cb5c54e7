// SPDX-License-Identifier: Apache-2.0

package calltest

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/exec/verb"
)

// NewServer returns a server with sh and a few other proxied commands, and the path of its audit log.
func NewServer(t *testing.T) (*call.Server, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "audit.log")
	a, err := audit.Open(log, audit.SessionInfo{Project: "app", Session: "0123456789ab"}, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	host, err := executor.NewHost(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	table, err := job.Open(filepath.Join(t.TempDir(), "jobs"))
	if err != nil {
		t.Fatal(err)
	}
	s := &call.Server{Version: "v0", Verbs: verb.Verbs{}, Runner: host, Queue: &approval.Queue{}, Log: slog.New(slog.DiscardHandler), Jobs: table}
	s.SetConfig(&call.SessionConfig{Audit: a, Environ: os.Environ(), Policy: &policy.Policy{Commands: []policy.Command{
		{Name: "sh", Action: policy.Allow, Path: "/bin/sh"},
		{Name: "rm", Action: policy.Deny, Path: "/bin/rm"},
		{Name: "git", Action: policy.Ask, Path: "/bin/true"},
		{Name: "lost", Action: policy.Allow, Path: "/nonexistent/lost"},
		{Name: "passwd", Action: policy.Allow, Path: "/etc/passwd"},
	}}})
	Mount(t, s, mount.Default{Source: t.TempDir(), All: true})
	return s, log
}

// Mount replaces the mounts of the container, until the end of the test.
func Mount(t *testing.T, s *call.Server, fallback mount.Default, mounts ...mount.Point) {
	t.Helper()
	dirs, err := mount.NewTable(mounts, fallback)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dirs.Close() })
	sc := *s.Config()
	sc.Dirs = dirs
	s.SetConfig(&sc)
}

// NewShellServer returns a server with shells, which the policy p decides about.
func NewShellServer(t *testing.T, p *policy.Policy) *call.Server {
	t.Helper()
	s, _ := NewServer(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range p.Commands {
		if c.Name == policy.Shell {
			p.Commands[i].Path = bash
		}
	}
	sc := *s.Config()
	sc.Policy, sc.Find = p, func(string) (string, bool) { return bash, true }
	s.SetConfig(&sc)
	s.Shells = &shell.Table{Runner: s.Runner, Dir: filepath.Join(t.TempDir(), "shells"), Grace: 300 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() {
		if err := s.Shells.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ShellPolicy returns the policy of --proxy-shell=action.
func ShellPolicy(action policy.Action) *policy.Policy {
	return &policy.Policy{Commands: []policy.Command{{Name: policy.Shell, Action: action, Explicit: action != policy.Allow}}}
}
