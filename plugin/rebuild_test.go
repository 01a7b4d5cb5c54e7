// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// Neither prune nor the doctor's advice removes the folder of a session that a container tells of, or
// may tell of.
func TestRebuiltStays(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gone, unreadable := state.NewID(), state.NewID()
	var recs []state.Session
	for _, id := range []string{gone, unreadable} {
		if err := os.Mkdir(store.Dir(id), 0o700); err != nil {
			t.Fatal(err)
		}
		recs = append(recs, state.Session{ID: id, ContainerName: "web", Damaged: true})
	}
	if err := os.WriteFile(filepath.Join(store.Dir(unreadable), "session.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, id := range []string{gone, unreadable} {
		if err := os.Chtimes(store.Dir(id), old, old); err != nil {
			t.Fatal(err)
		}
	}
	d := &doctor{store: store}
	for name, tt := range map[string]struct {
		recs     []state.Session
		answered bool
		want     string
	}{
		"containers tell of both": {recs, true, ""},
		"no container":            {nil, true, "rm -r " + store.Dir(unreadable)},
		"an engine is silent":     {nil, false, "docker hostexec doctor, when the engine answers"},
	} {
		var left stale
		d.halfMade(&left, tt.recs, tt.answered)
		fixes := strings.Join(left.fixes, "; ")
		if tt.want == "" && fixes != "" || !strings.Contains(fixes, tt.want) || !tt.answered && strings.Contains(fixes, "rm -r") {
			t.Errorf("%s: %q, want %q", name, fixes, tt.want)
		}
	}
	var left stale
	d.unserved(&left, session{Session: recs[1], State: stateLost})
	if got := strings.Join(left.fixes, "; "); !strings.Contains(got, "docker rm -f web") {
		t.Errorf("of a session that a container tells of: %q", got)
	}
	var out strings.Builder
	if err := sweepRecordless(store, recs, &out); err != nil || out.String() != "" {
		t.Errorf("prune removes %q, %v", out.String(), err)
	}
	if err := sweepRecordless(store, nil, &out); err != nil || out.String() != gone+"\n" {
		t.Errorf("without a container prune removes %q, %v", out.String(), err)
	}
}
