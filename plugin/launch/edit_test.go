// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func testLaunch() *Launch {
	return &Launch{Dir: "/state/sessions/0123456789ab", Plan: &Plan{Config: &config.Config{},
		Workspace: "/src",
		Record:    state.Session{ID: "0123456789ab", Version: "1", Commands: []state.Command{{Name: "make", Action: "allow", Path: "/usr/bin/make"}}},
	}}
}

// edited returns want with the additions of l.
func edited(l *Launch, want Creation) Creation { return l.additions(want, "/bin").Apply(want) }

func TestEdited(t *testing.T) {
	want := Creation{
		Config: &container.Config{Image: "img", Env: []string{"A=1"}, Labels: map[string]string{"x": "y"}},
		Host:   &container.HostConfig{Mounts: make([]mount.Mount, 1, 8), Binds: []string{"/a:/b"}},
	}
	got := edited(testLaunch(), want)
	if env := strings.Join(got.Config.Env, " "); env != "A=1 PATH=/run/hostexec/bin:/bin" {
		t.Errorf("env = %q", env)
	}
	if got.Config.WorkingDir != "/src" || got.Config.Labels["io.hostexec.session"] != "0123456789ab" || got.Config.Labels["x"] != "y" {
		t.Errorf("config = %+v", got.Config)
	}
	share := mount.Mount{Type: mount.TypeBind, Source: "/state/sessions/0123456789ab/share", Target: "/run/hostexec", ReadOnly: true}
	ws := mount.Mount{Type: mount.TypeBind, Source: "/src", Target: "/src"}
	if m := got.Host.Mounts; len(m) != 3 || !reflect.DeepEqual(m[1], share) || !reflect.DeepEqual(m[2], ws) {
		t.Errorf("mounts = %+v", m)
	}
}

// Docker run passes the same configuration again after a pull: edits must not add up.
func TestEditedLeavesWhatItIsGiven(t *testing.T) {
	want := Creation{
		Config: &container.Config{Env: slices.Grow([]string{"A=1"}, 8), Labels: map[string]string{"x": "y"}},
		Host:   &container.HostConfig{Mounts: make([]mount.Mount, 0, 8)},
	}
	l := testLaunch()
	first := edited(l, want)
	second := edited(l, want)
	if !reflect.DeepEqual(first.Config, second.Config) || !reflect.DeepEqual(first.Host, second.Host) {
		t.Errorf("the second edit differs: %+v %+v", second.Config, second.Host)
	}
	if len(want.Config.Env) != 1 || len(want.Config.Labels) != 1 || len(want.Host.Mounts) != 0 || want.Config.WorkingDir != "" {
		t.Errorf("what was given has changed: %+v %+v", want.Config, want.Host)
	}
}

func TestEditedKeepsTheUsersDirectory(t *testing.T) {
	l := testLaunch()
	l.Plan.KeepDir = true
	got := edited(l, Creation{Config: &container.Config{WorkingDir: "/mine"}, Host: &container.HostConfig{}})
	if got.Config.WorkingDir != "/mine" {
		t.Errorf("working directory = %q, want the one that -w gave", got.Config.WorkingDir)
	}
}

func TestWritable(t *testing.T) {
	got := writableSources(Creation{Host: &container.HostConfig{
		Binds: []string{"/rw:/a", "/ro:/b:ro", "/z:/c:z", "/rz:/d:z,ro", "volume:/e"},
		Mounts: []mount.Mount{
			{Type: mount.TypeBind, Source: "/m"}, {Type: mount.TypeBind, Source: "/mro", ReadOnly: true}, {Type: mount.TypeVolume, Source: "v"},
		},
	}})
	if want := []string{"/rw", "/z", "/m"}; !slices.Equal(got, want) {
		t.Errorf("writable = %q, want %q", got, want)
	}
}

// What run writes for scripts is what docker run writes.
func TestBannerIsForTerminals(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.CLI = clitest.New(t, &out)
	l.Writable = []string{"/src"}
	l.printCommands()
	if out.Len() != 0 {
		t.Errorf("said %q where there is no terminal", out.String())
	}
	l.CLI.Err().SetIsTerminal(true)
	l.printCommands()
	hint := "hostexec: hint: --proxy make,where=sandbox keeps that code from your other files\r\n"
	if sandbox.Supported() != nil {
		hint = ""
	}
	if strings.Contains(out.String(), "hostexec: \r\n") {
		t.Errorf("banner = %q: it has a line of nothing", out.String())
	}
	l.CommandDirs = "commands run in /src"
	l.Plan.Record.Commands = []state.Command{{Name: "kubectl", Action: "allow", Path: "/usr/bin/kubectl"}, {Name: "uname", Action: "allow", Path: "/usr/bin/uname"}, {Name: "git", Action: "allow", Path: "/usr/bin/git"}, {Name: "gh", Action: "ask", Path: "/usr/bin/gh"},
		{Name: "terraform", Action: "allow", Path: "/usr/bin/terraform"}, {Name: "docker", Action: "allow", Path: "/usr/bin/docker"}}
	l.printCommands()
	for _, want := range []string{
		"hostexec: commands run in /src\r\n",
		"hostexec: session 0123456789ab: make runs on", "hostexec: HOST CODE EXECUTION: make runs code from /src,",
		"hostexec: host code execution not known: nothing says whether kubectl runs code from /src, which the container can write\r\n",
		"hostexec: possible host code execution: git, gh may run code from /src,",
		hint,
		"hostexec: hint: no sandbox is possible for terraform, docker: --proxy terraform=ask --proxy docker=ask asks you before each call\r\n",
		"hostexec: hint: --proxy git-push pushes and fetches without running git in the container's files\r\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("banner = %q, want %q in it", out.String(), want)
		}
	}
}

// TestScriptsAreWarnedOfTheConfiguration: a proposal that is not trusted is no secret of terminals.
func TestScriptsAreWarnedOfTheConfiguration(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.CLI = clitest.New(t, &out)
	l.Plan.Config.Warnings = []string{"/src/.hostexec.yaml is not trusted, and not used: docker hostexec trust shows it"}
	l.Announce()
	if want := "hostexec: warning: " + l.Plan.Config.Warnings[0] + "\n"; out.String() != want {
		t.Errorf("a script is told %q, want %q", out.String(), want)
	}
}

func TestPrivilegedCommandIsWarnedOf(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.CLI = clitest.New(t, &out)
	l.Plan.Record.Commands[0].Path = program(t, t.TempDir()+"/sudo", 0o755|os.ModeSetuid)
	l.warnPrivs()
	if out.Len() != 0 {
		t.Errorf("said %q where there is no terminal", out.String())
	}
	l.CLI.Err().SetIsTerminal(true)
	l.warnPrivs()
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\r\n") || !strings.Contains(text, "is setuid") || !strings.Contains(text, "--allow-new-privs") {
		t.Errorf("said %q, want one line that names --allow-new-privs", text)
	}
	out.Reset()
	l.Plan.Record.NewPrivs = true
	l.warnPrivs()
	if out.Len() != 0 {
		t.Errorf("said %q although it is allowed", out.String())
	}
}
