// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// Extra is what a container gets beyond its Spec, as docker run gives it.
type Extra struct {
	Binds     []string
	Mounts    []mount.Mount
	Labels    map[string]string
	Workspace string // the host's directory at Container.Path; empty: there is none
	TTY       bool
}

// translate makes of s what the engine is asked for. The engine never removes the container
// by itself: its end is read first.
func translate(s *Spec, x Extra) (*container.Config, *container.HostConfig) {
	config := &container.Config{
		Image:       s.Container.Image,
		Env:         s.Env,
		Labels:      x.Labels,
		Tty:         x.TTY,
		OpenStdin:   true,
		StdinOnce:   true, // the agent's stdin ends with its client's
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}
	if len(s.Args) > 0 { // all of the command, as in process mode: not the image's with it behind
		config.Entrypoint, config.Cmd = s.Args[:1], s.Args[1:]
	}
	host := &container.HostConfig{
		Binds:       x.Binds,
		Mounts:      x.Mounts,
		NetworkMode: container.NetworkMode(s.Container.Network),
		Resources:   container.Resources{Memory: s.Container.Memory, NanoCPUs: s.Container.CPUs},
	}
	if x.Workspace != "" {
		config.WorkingDir = s.Container.Path
		host.Mounts = append([]mount.Mount{{Type: mount.TypeBind, Source: x.Workspace, Target: s.Container.Path}}, host.Mounts...)
	}
	if !s.Container.Keep {
		host.LogConfig = container.LogConfig{Type: "none"} // gigabytes for nobody: the last lines are kept here
	}
	return config, host
}
