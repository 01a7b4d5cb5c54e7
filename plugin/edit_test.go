// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func testLaunch() *launch {
	return &launch{dir: "/state/sessions/0123456789ab", plan: &plan{config: &config.Config{},
		workspace: "/src",
		rec:       state.Session{ID: "0123456789ab", Version: "1", Commands: []state.Command{{Name: "make", Action: "allow", Path: "/usr/bin/make"}}},
	}}
}

func TestEdited(t *testing.T) {
	want := creation{
		config: &container.Config{Image: "img", Env: []string{"A=1"}, Labels: map[string]string{"x": "y"}},
		host:   &container.HostConfig{Mounts: make([]mount.Mount, 1, 8), Binds: []string{"/a:/b"}},
	}
	got := testLaunch().edited(want, "/bin")
	if env := strings.Join(got.config.Env, " "); env != "A=1 PATH=/run/hostexec/bin:/bin" {
		t.Errorf("env = %q", env)
	}
	if got.config.WorkingDir != "/src" || got.config.Labels["io.hostexec.session"] != "0123456789ab" || got.config.Labels["x"] != "y" {
		t.Errorf("config = %+v", got.config)
	}
	share := mount.Mount{Type: mount.TypeBind, Source: "/state/sessions/0123456789ab/share", Target: "/run/hostexec", ReadOnly: true}
	ws := mount.Mount{Type: mount.TypeBind, Source: "/src", Target: "/src"}
	if m := got.host.Mounts; len(m) != 3 || !reflect.DeepEqual(m[1], share) || !reflect.DeepEqual(m[2], ws) {
		t.Errorf("mounts = %+v", m)
	}
}

// Docker run passes the same configuration again after a pull: edits must not add up.
func TestEditedLeavesWhatItIsGiven(t *testing.T) {
	want := creation{
		config: &container.Config{Env: slices.Grow([]string{"A=1"}, 8), Labels: map[string]string{"x": "y"}},
		host:   &container.HostConfig{Mounts: make([]mount.Mount, 0, 8)},
	}
	l := testLaunch()
	first := l.edited(want, "/bin")
	second := l.edited(want, "/bin")
	if !reflect.DeepEqual(first.config, second.config) || !reflect.DeepEqual(first.host, second.host) {
		t.Errorf("the second edit differs: %+v %+v", second.config, second.host)
	}
	if len(want.config.Env) != 1 || len(want.config.Labels) != 1 || len(want.host.Mounts) != 0 || want.config.WorkingDir != "" {
		t.Errorf("what was given has changed: %+v %+v", want.config, want.host)
	}
}

func TestEditedKeepsTheUsersDirectory(t *testing.T) {
	l := testLaunch()
	l.plan.keepDir = true
	got := l.edited(creation{config: &container.Config{WorkingDir: "/mine"}, host: &container.HostConfig{}}, "/bin")
	if got.config.WorkingDir != "/mine" {
		t.Errorf("working directory = %q, want the one that -w gave", got.config.WorkingDir)
	}
}

func TestWritable(t *testing.T) {
	got := writable(creation{host: &container.HostConfig{
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
	l.cli = clitest.New(t, &out)
	l.writable = []string{"/src"}
	l.banner()
	if out.Len() != 0 {
		t.Errorf("said %q where there is no terminal", out.String())
	}
	l.cli.Err().SetIsTerminal(true)
	l.banner()
	if strings.Contains(out.String(), "hostexec: \r\n") {
		t.Errorf("banner = %q: it has a line of nothing", out.String())
	}
	l.place = "commands run in /src"
	l.plan.rec.Commands = []state.Command{{Name: "kubectl", Action: "allow", Path: "/usr/bin/kubectl"}, {Name: "uname", Action: "allow", Path: "/usr/bin/uname"}, {Name: "git", Action: "allow", Path: "/usr/bin/git"}, {Name: "gh", Action: "ask", Path: "/usr/bin/gh"}}
	l.banner()
	for _, want := range []string{
		"hostexec: commands run in /src\r\n",
		"hostexec: session 0123456789ab: make runs on", "hostexec: HOST CODE EXECUTION: make runs code from /src,",
		"hostexec: host code execution not known: nothing says whether kubectl runs code from /src, which the container can write\r\n",
		"hostexec: possible host code execution: git, gh may run code from /src,",
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
	l.cli = clitest.New(t, &out)
	l.plan.config.Warnings = []string{"/src/.hostexec.yaml is not trusted, and not used: docker hostexec trust shows it"}
	l.announce()
	if want := "hostexec: warning: " + l.plan.config.Warnings[0] + "\n"; out.String() != want {
		t.Errorf("a script is told %q, want %q", out.String(), want)
	}
}

func TestPrivilegedCommandIsWarnedOf(t *testing.T) {
	var out bytes.Buffer
	l := testLaunch()
	l.cli = clitest.New(t, &out)
	l.plan.rec.Commands[0].Path = program(t, t.TempDir()+"/sudo", 0o755|os.ModeSetuid)
	l.warnPrivs()
	if out.Len() != 0 {
		t.Errorf("said %q where there is no terminal", out.String())
	}
	l.cli.Err().SetIsTerminal(true)
	l.warnPrivs()
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\r\n") || !strings.Contains(text, "is setuid") || !strings.Contains(text, "--allow-new-privs") {
		t.Errorf("said %q, want one line that names --allow-new-privs", text)
	}
	out.Reset()
	l.plan.rec.NewPrivs = true
	l.warnPrivs()
	if out.Len() != 0 {
		t.Errorf("said %q although it is allowed", out.String())
	}
}
