// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A container tells of a session whose records are damaged by its label and by its mount. A label alone
// may be an image's.
func TestRebuild(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := state.NewID()
	dir := store.Dir(id)
	shared := container.MountPoint{Type: mount.TypeBind, Source: "/host_mnt" + state.ShareDir(dir), Destination: state.Target}
	labels := map[string]string{inject.LabelSession: id, inject.LabelVersion: "1.2", inject.LabelCommands: "make,../bad,git"}
	own := container.Summary{ID: "c1", Names: []string{"/web"}, Image: "img", Created: 100, State: container.StateRunning, Labels: labels, Mounts: []container.MountPoint{shared}}
	elsewhere, unlabelled, volume, exited := own, own, own, own
	elsewhere.Mounts = []container.MountPoint{{Type: mount.TypeBind, Source: "/home", Destination: state.Target}}
	unlabelled.Labels = map[string]string{inject.LabelSession: state.NewID()}
	volume.Mounts = []container.MountPoint{{Type: mount.TypeVolume, Destination: state.Target}}
	exited.State, exited.Created, exited.ID = container.StateExited, 200, "c2"
	for name, tt := range map[string]struct {
		list []container.Summary
		want string // of the container
	}{
		"its own":               {[]container.Summary{own}, "c1"},
		"a volume":              {[]container.Summary{volume}, "c1"},
		"one that runs":         {[]container.Summary{exited, own}, "c1"},
		"one that has exited":   {[]container.Summary{exited}, "c2"},
		"another mount":         {[]container.Summary{elsewhere}, ""},
		"another session's":     {[]container.Summary{unlabelled}, ""},
		"there is no container": {nil, ""},
	} {
		recs := rebuild([]string{dir}, []string{"--host", "h"}, tt.list)
		if tt.want == "" {
			if len(recs) != 0 {
				t.Errorf("%s: %+v", name, recs)
			}
			continue
		}
		if len(recs) != 1 || recs[0].ID != id || recs[0].Container != tt.want || recs[0].ContainerName != "web" || !recs[0].Damaged || recs[0].Version != "1.2" {
			t.Errorf("%s: %+v", name, recs)
			continue
		}
		if got := recs[0].Names(); !slices.Equal(got, []string{"make", "git"}) || recs[0].Commands[0].Action != "unknown" {
			t.Errorf("%s: commands %q", name, got)
		}
	}
}
