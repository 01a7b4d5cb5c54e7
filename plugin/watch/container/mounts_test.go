// SPDX-License-Identifier: Apache-2.0

package container

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Attack 119.
func TestPreflight(t *testing.T) {
	base := t.TempDir()
	home := filepath.Join(base, "docker", "hostexec")
	rec := state.Session{ID: "0123456789ab", Commands: []state.Command{{Name: "tool", Path: filepath.Join(base, "work", "tool")}}}
	mc := testCheck(home, rec)
	for _, tt := range []struct {
		name   string
		source string
		rw     bool
		want   string // part of the error
	}{
		{"our own share", filepath.Join(mc.record.Dir, "share"), false, ""},
		{"our own share, to be written", filepath.Join(mc.record.Dir, "share"), true, "could change its own share"},
		{"elsewhere", filepath.Join(base, "other"), true, ""},
		{"a name that begins alike", home + "-not", true, ""},
		{"the state", home, false, "covers hostexec's own state"},
		{"above the state, read-only", base, false, "covers hostexec's own state"},
		{"the root", "/", false, "covers hostexec's own state"},
		{"below the state", filepath.Join(home, "sessions"), false, "covers hostexec's own state"},
		{"a proxied program", filepath.Join(base, "work"), true, "which --proxy tool runs"},
		{"a proxied program, read-only", filepath.Join(base, "work"), false, ""},
		{"what is not understood", "", true, "the directory of volume v cannot be determined"},
		{"a proxied program by itself", filepath.Join(base, "work", "tool"), true, "which --proxy tool runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := container.InspectResponse{Mounts: []container.MountPoint{
				{Type: mount.TypeVolume, Source: home, RW: true}, // a volume's source is the engine's
				{Type: mount.TypeBind, Name: "v", Source: tt.source, Destination: "/w", RW: tt.rw},
			}}
			err := mc.refuse(c)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("preflight(%s) = %v, want %q", tt.source, err, tt.want)
			}
		})
	}
}

// TestPreflightLinks makes links in the container's mount that lead to protected files. Some are in the middle of a
// path whose ends are both outside the mount.
//
// Attacks 62, 119.
func TestPreflightLinks(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFileOrLink(t, filepath.Join(base, "usr", "tool"), "")
	writeFileOrLink(t, filepath.Join(base, "work", "bin", "tool"), "@"+filepath.Join(base, "usr", "tool"))
	writeFileOrLink(t, filepath.Join(base, "work", "config.yaml"), "version: 1\n")
	writeFileOrLink(t, filepath.Join(base, "bin"), "@work/bin")
	writeFileOrLink(t, filepath.Join(base, "mount"), "@work")
	home := filepath.Join(base, "home")
	for _, tt := range []struct{ name, tool, file, want string }{
		{"nothing", "usr/tool", "config.yaml", ""},
		{"a link on the way to a program", "bin/tool", "config.yaml", "which --proxy tool runs"},
		{"the configuration", "usr/tool", "@../work/config.yaml", "which says what it may run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer os.RemoveAll(home)
			if tt.file[0] == '@' {
				writeFileOrLink(t, filepath.Join(home, "config.yaml"), tt.file)
			}
			rec := state.Session{ID: "0123456789ab", Commands: []state.Command{{Name: "tool", Path: filepath.Join(base, tt.tool)}}}
			mc := testCheck(home, rec)
			mc.config.Load()
			for _, source := range []string{"work", "mount"} {
				c := container.InspectResponse{Mounts: []container.MountPoint{{Type: mount.TypeBind, Source: filepath.Join(base, source), Destination: "/w", RW: true}}}
				if err := mc.refuse(c); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("preflight(%s) = %v, want %q", source, err, tt.want)
				}
			}
		})
	}
}

// Attacks 120, 224.
func TestWarnings(t *testing.T) {
	host := func(edit func(*container.HostConfig)) container.InspectResponse {
		h := &container.HostConfig{}
		edit(h)
		return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{HostConfig: h}}
	}
	for _, tt := range []struct {
		name string
		c    container.InspectResponse
		want string
	}{
		{"nothing", host(func(*container.HostConfig) {}), ""},
		{"privileged", host(func(h *container.HostConfig) { h.Privileged = true }), "privileged"},
		{"pid", host(func(h *container.HostConfig) { h.PidMode = "host" }), "--pid host"},
		{"a capability", host(func(h *container.HostConfig) { h.CapAdd = []string{"NET_ADMIN", "SYS_PTRACE"} }), "SYS_PTRACE"},
		{"its other name", host(func(h *container.HostConfig) { h.CapAdd = []string{"cap_sys_admin"} }), "CAP_SYS_ADMIN"},
		{"a harmless capability", host(func(h *container.HostConfig) { h.CapAdd = []string{"NET_BIND_SERVICE"} }), ""},
		{"a device", host(func(h *container.HostConfig) { h.Devices = []container.DeviceMapping{{PathOnHost: "/dev/kvm"}} }), "--device"},
		{"network", host(func(h *container.HostConfig) { h.NetworkMode = "host" }), "--network host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(warnings(tt.c), "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("warnings = %q, want %q", got, tt.want)
			}
		})
	}
	sock := host(func(*container.HostConfig) {})
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/4711")
	for _, tt := range []struct {
		m    container.MountPoint
		want int
	}{
		{container.MountPoint{Type: mount.TypeBind, Source: "/var/run/docker.sock"}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/elsewhere/docker.sock"}, 1},
		{container.MountPoint{Type: mount.TypeBind, Source: "/run"}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/run/lock"}, 0},
		{container.MountPoint{Type: mount.TypeBind, Source: "/run/user"}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/run/user/4711/bus"}, 1},
		{container.MountPoint{Type: mount.TypeBind, Source: "/run/user/4711/systemd/private"}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/run/user/4711/wayland-0"}, 0},
		{container.MountPoint{Type: mount.TypeBind, Source: "/tmp/.X11-unix"}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/tmp/.X11-unix/X0"}, 1},
		{container.MountPoint{Type: mount.TypeBind, Source: "/tmp/work"}, 0},
		{container.MountPoint{Type: mount.TypeBind, Source: "/proc"}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/proc/sys"}, 0},
		{container.MountPoint{Type: mount.TypeBind, Source: "/srv", Propagation: mount.PropagationRShared}, 1}, {container.MountPoint{Type: mount.TypeBind, Source: "/srv", Propagation: mount.PropagationRPrivate}, 0},
	} {
		sock.Mounts = []container.MountPoint{tt.m}
		if got := warnings(sock); len(got) != tt.want {
			t.Errorf("warnings of %+v = %q, want %d", tt.m, got, tt.want)
		}
	}
}

// testCheck returns the check of mounts for the session with record rec, whose state is in home.
func testCheck(home string, rec state.Session) *mountCheck {
	log := slog.New(slog.DiscardHandler)
	record := watch.NewRecord(&state.Store{Home: home}, rec, log)
	return &mountCheck{record: record, config: watch.NewConfiguration(record, log), sessions: watch.NewOtherSessions(record)}
}

// writeFileOrLink creates a file, or a link if text is @ and where that leads.
func writeFileOrLink(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if to, ok := strings.CutPrefix(text, "@"); ok && err == nil {
		err = os.Symlink(to, file)
	} else if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
