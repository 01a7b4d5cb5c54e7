// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// TestMountsOfCallContainer checks that a call container gets the caller's directories. It does not get
// directories by which the caller could change hostexec's own files, or that contain files which no container may have.
//
// Attack 202.
func TestMountsOfCallContainer(t *testing.T) {
	const home, copies = "/home/you/state", "/home/you/state/copies/1"
	const workspace = home + "/workspaces/1"
	w := mount.Point{Target: "/w", Source: "/home/you/w"}
	under := mount.Point{Target: "/run/sub", Source: "/home/you/sub"}
	hidden := mount.Point{Target: "/w/vol", ReadOnly: true}
	for _, tt := range []struct {
		name   string
		mounts []mount.Point
		cwd    string
		copies string
		want   []mount.Point
		err    string
	}{
		{"what there is", []mount.Point{w, hidden}, "/w/sub", copies, []mount.Point{w, hidden}, ""},
		{"hostexec's own", []mount.Point{w, {Target: "/run/hostexec"}, {Target: "/run/hostexec/sub", Source: "/x"}}, "/w", "", []mount.Point{w}, ""},
		{"above it", []mount.Point{w, {Target: "/run", Source: "/x"}}, "/w", "", []mount.Point{w}, ""},
		{"a call from above it", []mount.Point{w, {Target: "/run", Source: "/x"}}, "/run/x", "", []mount.Point{w}, `below "/run": what hostexec puts`},
		{"a call from a mount in that", []mount.Point{{Target: "/run", Source: "/x"}, under}, "/run/sub", "", []mount.Point{under}, ""},
		{"above the copies", []mount.Point{w, {Target: "/home", Source: "/x"}}, "/home", copies, []mount.Point{w}, `below "/home": what hostexec puts`},
		{"no copies", []mount.Point{{Target: "/home", Source: "/x"}}, "/home", "", []mount.Point{{Target: "/home", Source: "/x"}}, ""},
		{"the engine's socket", []mount.Point{w, {Target: "/s", Source: "/run"}}, "/w", "", []mount.Point{w}, ""},
		{"a call from beside it", []mount.Point{{Target: "/s", Source: "/run"}}, "/s/x", "", nil, "the engine's socket"},
		{"another engine's socket", []mount.Point{w, {Target: "/s", Source: "/user/1"}}, "/w", "", []mount.Point{w}, ""},
		{"the state", []mount.Point{{Target: "/home/you", Source: "/home/you"}}, "/home/you", "", nil, "hostexec's own state"},
		{"in the state", []mount.Point{{Target: "/c", Source: copies}}, "/c", "", nil, "hostexec's own state"},
		{"an agent's workspace", []mount.Point{{Target: "/workspace", Source: workspace}}, "/workspace", copies, []mount.Point{{Target: "/workspace", Source: workspace}}, ""},
		{"another's", []mount.Point{{Target: "/workspace", Source: workspace + "2"}}, "/workspace", "", nil, "hostexec's own state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := commandMounts(tt.mounts, tt.cwd, tt.copies, home, workspace, []string{"/user/1/docker.sock"})
			if !slices.Equal(got, tt.want) || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("lent = %v, %v; want %v, %q", got, err, tt.want, tt.err)
			}
		})
	}
}
