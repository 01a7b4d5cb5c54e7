// SPDX-License-Identifier: Apache-2.0

package container

import (
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
)

// TestIsolationWarnings: one thing that thins the walls of a container is one warning.
//
// Attack 120.
func TestIsolationWarnings(t *testing.T) {
	for says, h := range map[string]container.HostConfig{
		"is privileged":        {Privileged: true},
		"--pid host":           {PidMode: "host"},
		"--network host":       {NetworkMode: "host"},
		"--ipc host":           {IpcMode: "host"},
		"capability SYS_ADMIN": {CapAdd: []string{"sys_admin"}},
		"--device":             {Resources: container.Resources{Devices: []container.DeviceMapping{{PathOnHost: "/dev/sda"}}}},
		"without seccomp":      {SecurityOpt: []string{"seccomp=unconfined"}},
		"without apparmor":     {SecurityOpt: []string{"no-new-privileges", "apparmor:unconfined"}},
	} {
		got := warnings(container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{HostConfig: &h}})
		if len(got) != 1 || !strings.Contains(got[0], says) {
			t.Errorf("%q, want one with %q", got, says)
		}
	}
	if got := warnings(container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{HostConfig: &container.HostConfig{SecurityOpt: []string{"seccomp=/p", "label=disable"}}}}); len(got) != 0 {
		t.Errorf("%q, want none", got)
	}
}
