// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// Extra holds the container options that are not in the Spec, in the form of docker run.
type Extra struct {
	Binds     []string
	Mounts    []mount.Mount
	Labels    map[string]string
	Workspace string // the host directory at Container.Path; empty: none
	TTY       bool
}

// translate converts s to the engine's configuration. AutoRemove is off, because the exit code is read
// before the removal.
func translate(s *Spec, x Extra) (*container.Config, *container.HostConfig) {
	config := &container.Config{
		Image:       s.Container.Image,
		Env:         s.Env,
		Labels:      x.Labels,
		Tty:         x.TTY,
		OpenStdin:   true,
		StdinOnce:   true, // the agent's stdin ends with the client's stdin
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}
	if len(s.Args) > 0 { // replaces entrypoint and command, as in process mode
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
		host.LogConfig = container.LogConfig{Type: "none"} // avoids large logs; the last lines are kept in memory
	}
	return config, host
}
