// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

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
	l.Plan.HasWorkdir = true
	got := edited(l, Creation{Config: &container.Config{WorkingDir: "/mine"}, Host: &container.HostConfig{}})
	if got.Config.WorkingDir != "/mine" {
		t.Errorf("working directory = %q, want the one that -w gave", got.Config.WorkingDir)
	}
}
