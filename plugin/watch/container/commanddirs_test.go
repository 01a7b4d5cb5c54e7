// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestCommandDirs(t *testing.T) {
	base := t.TempDir()
	app, file := filepath.Join(base, "app"), filepath.Join(base, "file")
	if err := os.Mkdir(app, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bind := func(source, target string) container.MountPoint {
		return container.MountPoint{Type: mount.TypeBind, Source: source, Destination: target, RW: true}
	}
	volume := container.MountPoint{Type: mount.TypeVolume, Source: base, Destination: "/w/v", RW: true}
	here := state.Session{InvokedIn: app}
	for _, tt := range []struct {
		name    string
		rec     state.Session
		mounts  []container.MountPoint
		workdir string
		want    string
	}{
		{"nothing", here, nil, "/srv", "commands run in " + app + ", and only if the container calls them in /srv: --workdir-host DIR allows all directories"},
		{"an unknown working directory", here, nil, "", "commands run in " + app + ", and only if the container calls them in its working directory: --workdir-host DIR allows all directories"},
		{"a volume and a file", here, []container.MountPoint{volume, bind(file, "/f")}, "/", "commands run in " + app + ", and only if the container calls them in /: --workdir-host DIR allows all directories"},
		{"--workdir-host", state.Session{InvokedIn: base, WorkdirHost: app}, nil, "/srv", "commands run in " + app + ", from whatever directory the container calls them"},
		{"a mount", here, []container.MountPoint{bind(app, "/w"), volume}, "/srv", "commands run in the directories of this host that are mounted: " + app + " (at /w)"},
		{"mounts", here, []container.MountPoint{bind(app, app), bind(base, "/w")}, "/srv", "commands run in the directories of this host that are mounted: " + app + ", " + base + " (at /w)"},
		{"a mount that is gone", here, []container.MountPoint{bind(base+"/no", "/w")}, "/srv", "commands run nowhere: no directory of this host that is mounted can be opened"},
		{"a mount of another host's engine", state.Session{InvokedIn: app, RemoteFiles: true}, []container.MountPoint{bind(app, "/w")}, "/w", "commands run in " + app + ", and only if the container calls them in /w: --workdir-host DIR allows all directories"},
	} {
		c := container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{}, Mounts: tt.mounts}
		dirs, err := mountTable(c, defaultDir(tt.rec, tt.workdir), !tt.rec.RemoteFiles, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer dirs.Close()
		if got := commandDirs(dirs); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
