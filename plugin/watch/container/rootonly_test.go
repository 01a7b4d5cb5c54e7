// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"testing"

	"github.com/docker/docker/api/types/system"
)

// TestOwnedByRoot checks who root is in archives of an engine that maps users.
//
// Attack 170.
func TestOwnedByRoot(t *testing.T) {
	mapped := []string{"name=seccomp,profile=default", "name=userns"}
	for _, tt := range []struct {
		name, dir string
		options   []string
		want      string
	}{
		{"as it is", "/var/lib/docker", nil, "[0]"},
		{"mapped", "/var/lib/docker/100000.100000", mapped, "[0 100000]"},
		{"mapped, in a directory of another name", "/srv/docker", mapped, "[0]"},
		{"a name that only looks so", "/srv/100000.100000", mapped[:1], "[0]"},
	} {
		if got := fmt.Sprint(roots(system.Info{DockerRootDir: tt.dir, SecurityOptions: tt.options})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
