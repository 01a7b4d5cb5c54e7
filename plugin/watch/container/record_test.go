// SPDX-License-Identifier: Apache-2.0

package container

import (
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestWritable checks that the list has no directory of the session, such as that of requests in files, which the
// container can write: commands run no code from there.
func TestWritable(t *testing.T) {
	mc := testCheck(t.TempDir(), state.Session{ID: "0123456789ab"})
	bind := func(source, target string, rw bool) container.MountPoint {
		return container.MountPoint{Type: mount.TypeBind, Source: source, Destination: target, RW: rw}
	}
	c := container.InspectResponse{Mounts: []container.MountPoint{
		bind("/rw", "/a", true), bind("/ro", "/b", false), bind("/m", "/f", true), bind("/mro", "/g", false),
		{Type: mount.TypeVolume, Source: "/var/lib/docker/volumes/v/_data", Destination: "/e", RW: true},
		bind(state.ShareDir(mc.record.Dir), state.Target, false), bind(state.RequestsDir(mc.record.Dir), state.Target+"/proxy", true),
	}}
	if got, want := mc.writable(c), []string{"/m", "/rw"}; !slices.Equal(got, want) {
		t.Errorf("writable = %q, want %q", got, want)
	}
	mc.record.Change(func(rec *state.Session) { rec.RemoteFiles = true })
	if got := mc.writable(c); got != nil {
		t.Errorf("of an engine that mounts nothing of this host's: %q", got)
	}
}
