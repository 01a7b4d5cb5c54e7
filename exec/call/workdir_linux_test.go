// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestWorkdirMismatch: a call runs where its directory is on the host, or not at all. A program that
// cleans up /build of a container does not clean up the directory where run was typed.
func TestWorkdirMismatch(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"app/sub", "app/gone", "app/closed"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	app := filepath.Join(base, "app")
	mounts := []mount.Point{{Target: "/w", Source: app, Bind: true}, {Target: "/w/link", Source: "/v"}}
	if err := os.Symlink("/", filepath.Join(app, "out")); err != nil {
		t.Fatal(err)
	}
	one := mount.Default{Source: app, Target: "/srv"}
	all := mount.Default{Source: app, Target: "/srv", All: true}
	for _, tt := range []struct {
		name     string
		mounts   []mount.Point
		fallback mount.Default
		cwd      string
		want     string // where it ran, below base, or what it says
	}{
		{"the working directory", nil, one, "/srv", "/app"},
		{"another one", nil, one, "/build", "workdir mismatch: /build is not mounted from the host"},
		{"the next step", nil, one, "/build", "change to /srv, or start the container with docker hostexec run --workdir-host DIR"},
		{"below it", nil, one, "/srv/sub", "workdir mismatch: /srv/sub is not mounted"},
		{"the root", nil, one, "/", "workdir mismatch: / is not mounted"},
		{"with spaces", nil, one, "/a b", `workdir mismatch: "/a b" is not mounted`},
		{"not printable", nil, one, "/a\x1b[2J", `workdir mismatch: "/a\x1b[2J" is not mounted`},
		{"deleted", nil, one, "", "workdir mismatch: the current directory was deleted"},
		{"deleted, though any does", nil, all, "", "workdir mismatch: the current directory was deleted"},
		{"any, chosen by the person", nil, all, "/build", "/app"},
		{"a mount", mounts, one, "/w/sub", "/app/sub"},
		{"none, with a flag that mounts replace", mounts, all, "/build", "change to a directory below /w, or mount the host's directory here, too: in a container with mounts, --workdir-host has no effect"},
		{"not in a mount", mounts, one, "/srv", "workdir mismatch: /srv is not mounted"},
		{"the next step with a mount", mounts, one, "/srv", "change to a directory below /w"},
		{"a volume in a mount", mounts, one, "/w/link", "workdir mismatch: /w/link is not mounted"},
		{"deleted in a mount", mounts, one, "/w/never", "workdir mismatch: the current directory was deleted"},
		{"a link in a mount", mounts, one, "/w/out", "a symbolic link is on the way"},
		{"no directory at all", nil, mount.Default{}, "/", "start the container with docker hostexec run --workdir-host DIR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			calltest.Mount(t, s, tt.fallback, tt.mounts...)
			c := calltest.Dial(t, s)
			c.Cwd = tt.cwd
			c.Exec(t, wire.FDFile, "sh", "-c", "pwd -P")
			c.Read(t, wire.KindExit)
			if strings.HasPrefix(tt.want, "/") {
				if got := c.Out.String(); got != base+tt.want+"\n" {
					t.Errorf("it ran in %q, want %q: %+v", got, base+tt.want, c.Exit)
				}
				return
			}
			if c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, tt.want) || strings.Count(c.Exit.Text, "\n") != 1 || c.Out.Len() > 0 {
				t.Errorf("%d %q, stdout %q, want 126 and %q", c.Exit.Code, c.Exit.Text, c.Out.String(), tt.want)
			}
		})
	}
}

// TestWorkdirMismatchHost: the host's directory was deleted, and not the caller's.
func TestWorkdirMismatchHost(t *testing.T) {
	for _, all := range []bool{false, true} {
		gone := filepath.Join(t.TempDir(), "gone")
		if err := os.Mkdir(gone, 0o755); err != nil {
			t.Fatal(err)
		}
		s, _ := calltest.NewServer(t)
		calltest.Mount(t, s, mount.Default{Source: gone, Target: "/srv", All: all})
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
		c := calltest.Dial(t, s)
		c.Cwd = "/srv"
		c.Exec(t, wire.FDFile, "sh", "-c", "pwd -P")
		c.Read(t, wire.KindExit)
		if want := "workdir mismatch: the host's directory where commands run was deleted"; c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, want) {
			t.Errorf("%d %q, want 126 and %q", c.Exit.Code, c.Exit.Text, want)
		}
	}
}

// TestWorkdirMismatchShell: a shell, too, starts in a directory that its caller has from the host, or in
// one that it names.
func TestWorkdirMismatchShell(t *testing.T) {
	app, other := t.TempDir(), t.TempDir()
	for _, tt := range []struct {
		name  string
		all   bool
		cwd   string
		words []string
		want  string
	}{
		{"the working directory", false, "/srv", nil, app},
		{"another one", false, "/build", nil, "session s: workdir mismatch: /build is not mounted from the host"},
		{"the next step", false, "/build", nil, "start the shell elsewhere with --cwd DIR"},
		{"deleted", false, "", nil, "workdir mismatch: the current directory was deleted"},
		{"another one, and --cwd", false, "/build", []string{"--cwd", "/srv"}, app},
		{"--cwd of the host's", false, "/srv", []string{"--cwd", other}, other},
		{"any, chosen by the person", true, "/build", nil, app},
		{"any, and --cwd of the host's", true, "/build", []string{"--cwd", other}, other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
			calltest.Mount(t, s, mount.Default{Source: app, Target: "/srv", All: tt.all})
			c := calltest.Dial(t, s)
			c.Cwd = tt.cwd
			c.Exec(t, wire.FDFile, append(append([]string{"hostexec", "session", "create"}, tt.words...), "s")...)
			if c.Read(t, wire.KindExit); c.Exit.Code != 0 {
				if c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, tt.want) {
					t.Errorf("create: %+v, want %q", c.Exit, tt.want)
				}
				return
			}
			if got := calltest.HostexecSession(t, s, "exec", "s", "--", "pwd -P"); got.Out.String() != tt.want+"\n" {
				t.Errorf("it started in %q, want %q: %+v", got.Out.String(), tt.want, got.Exit)
			}
		})
	}
}

// TestShellWithoutItsDirectory checks that a caller who creates a shell in a missing directory is
// warned, unless the answer would reveal which directories the host has.
func TestShellWithoutItsDirectory(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		action policy.Action
		dir    string
		warned bool
	}{
		{policy.Allow, missing, true},
		{policy.Allow, file, true},
		{policy.Allow, t.TempDir(), false},
		{policy.Ask, missing, false},
	} {
		s := calltest.NewShellServer(t, calltest.ShellPolicy(tt.action))
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDFile, "hostexec", "session", "create", "--cwd", tt.dir, "s")
		c.Read(t, wire.KindExit)
		if warned := strings.HasSuffix(c.Exit.Text, "starts in HOME\n"); c.Exit.Code != 0 || warned != tt.warned {
			t.Errorf("%v, --cwd %s: %+v, want a warning: %v", tt.action, tt.dir, c.Exit, tt.warned)
		}
	}
}
