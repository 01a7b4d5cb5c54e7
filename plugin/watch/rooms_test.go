// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// TestLent: a command's container gets the caller's directories, but for those by which the
// caller could change what is hostexec's own there, or that hold what nobody may have.
//
// Attack 202.
func TestLent(t *testing.T) {
	const home, copies = "/home/you/state", "/home/you/state/copies/1"
	const workspace = home + "/workspaces/1"
	w := dir.Mount{Target: "/w", Source: "/home/you/w"}
	under := dir.Mount{Target: "/run/sub", Source: "/home/you/sub"}
	hidden := dir.Mount{Target: "/w/vol", ReadOnly: true}
	for _, tt := range []struct {
		name   string
		mounts []dir.Mount
		cwd    string
		copies string
		want   []dir.Mount
		err    string
	}{
		{"what there is", []dir.Mount{w, hidden}, "/w/sub", copies, []dir.Mount{w, hidden}, ""},
		{"hostexec's own", []dir.Mount{w, {Target: "/run/hostexec"}, {Target: "/run/hostexec/sub", Source: "/x"}}, "/w", "", []dir.Mount{w}, ""},
		{"above it", []dir.Mount{w, {Target: "/run", Source: "/x"}}, "/w", "", []dir.Mount{w}, ""},
		{"a call from above it", []dir.Mount{w, {Target: "/run", Source: "/x"}}, "/run/x", "", []dir.Mount{w}, `below "/run": what hostexec puts`},
		{"a call from a mount in that", []dir.Mount{{Target: "/run", Source: "/x"}, under}, "/run/sub", "", []dir.Mount{under}, ""},
		{"above the copies", []dir.Mount{w, {Target: "/home", Source: "/x"}}, "/home", copies, []dir.Mount{w}, `below "/home": what hostexec puts`},
		{"no copies", []dir.Mount{{Target: "/home", Source: "/x"}}, "/home", "", []dir.Mount{{Target: "/home", Source: "/x"}}, ""},
		{"the engine's socket", []dir.Mount{w, {Target: "/s", Source: "/run"}}, "/w", "", []dir.Mount{w}, ""},
		{"a call from beside it", []dir.Mount{{Target: "/s", Source: "/run"}}, "/s/x", "", nil, "the engine's socket"},
		{"another engine's socket", []dir.Mount{w, {Target: "/s", Source: "/user/1"}}, "/w", "", []dir.Mount{w}, ""},
		{"the state", []dir.Mount{{Target: "/home/you", Source: "/home/you"}}, "/home/you", "", nil, "hostexec's own state"},
		{"in the state", []dir.Mount{{Target: "/c", Source: copies}}, "/c", "", nil, "hostexec's own state"},
		{"an agent's workspace", []dir.Mount{{Target: "/workspace", Source: workspace}}, "/workspace", copies, []dir.Mount{{Target: "/workspace", Source: workspace}}, ""},
		{"another's", []dir.Mount{{Target: "/workspace", Source: workspace + "2"}}, "/workspace", "", nil, "hostexec's own state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := commandMounts(tt.mounts, tt.cwd, tt.copies, home, workspace, []string{"/user/1/docker.sock"})
			if !slices.Equal(got, tt.want) || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("lent = %v, %v; want %v, %q", got, err, tt.want, tt.err)
			}
		})
	}
}
