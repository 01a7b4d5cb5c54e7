// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"slices"
	"testing"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// TestConfig checks that a container has the configuration of its place, is removed automatically, and has
// no additional privileges.
//
// Attacks 203, 206.
func TestConfig(t *testing.T) {
	r := &Containers{Session: "0123", Home: "/home/you/.docker/hostexec"}
	c := executor.Command{ID: "4567", Args: []string{"make", "-j", "4"}, Env: []string{"A=b"}}
	p := Spec{Image: "img", Network: "none", Memory: 1, CPUs: 2, Pids: 3, Cwd: "/w/sub", Mounts: []Mount{{Source: "/src", Target: "/w", ReadOnly: true}, {Target: "/w/vol"}, {Target: "/w/file", File: true}}}
	config, host := r.config(c, p, "/callcontainer", user{name: "1:2", groups: []string{"3"}})
	switch {
	case config.Image != "img" || config.WorkingDir != "/w/sub" || config.User != "1:2":
		t.Errorf("image %q, directory %q, user %q", config.Image, config.WorkingDir, config.User)
	case !slices.Equal(config.Entrypoint, []string{"/run/hostexec/.init"}) || !slices.Equal(config.Cmd, []string{"make"}):
		t.Errorf("it starts %q %q", config.Entrypoint, config.Cmd)
	case !slices.Equal(config.Env, c.Env):
		t.Errorf("environment %q", config.Env)
	case config.Labels[Label] != "0123" || config.Labels[LabelRequest] != "4567" || config.Labels[LabelHome] != r.Home:
		t.Errorf("labels %q", config.Labels)
	case !host.AutoRemove || *host.Init || host.LogConfig.Type != "none" || host.Privileged:
		t.Error("it is not removed automatically, or has another first process, a log, or privileges")
	case host.NetworkMode != "none" || host.Memory != 1 || host.NanoCPUs != 2 || *host.PidsLimit != 3:
		t.Errorf("limits %+v", host.Resources)
	case !slices.Equal(host.SecurityOpt, []string{"no-new-privileges"}):
		t.Errorf("security %q", host.SecurityOpt)
	case !slices.Equal(host.GroupAdd, []string{"3"}):
		t.Errorf("groups %q", host.GroupAdd)
	case len(host.Mounts) != 4 || !host.Mounts[0].ReadOnly || host.Mounts[0].Source != "/callcontainer" || !host.Mounts[1].ReadOnly || host.Mounts[1].Target != "/w":
		t.Errorf("mounts %+v", host.Mounts)
	case host.Mounts[2] != (mount.Mount{Type: mount.TypeTmpfs, Target: "/w/vol", ReadOnly: true}) ||
		host.Mounts[3] != (mount.Mount{Type: mount.TypeBind, Source: "/dev/null", Target: "/w/file", ReadOnly: true}):
		t.Errorf("what hides: %+v", host.Mounts[2:])
	case host.UsernsMode != "":
		t.Errorf("user namespace %q", host.UsernsMode)
	}

	c.NewPrivs = true
	_, host = r.config(c, Spec{Image: "img"}, "/callcontainer", user{name: "1:2", remap: true})
	if *host.PidsLimit != defaultPids || host.SecurityOpt != nil || host.UsernsMode != "host" {
		t.Errorf("without limits: %+v, %q, %q", host.PidsLimit, host.SecurityOpt, host.UsernsMode)
	}
}
