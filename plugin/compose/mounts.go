// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	shows "github.com/docker-hostexec/hostexec/plugin/volume"
)

// Mounts are those that a service's containers will have, as the engine would show them. What
// volumes show of this host's files is among them.
func (m *Model) Mounts(name string) (all []container.MountPoint) {
	for _, v := range m.Services[name].Volumes {
		p := container.MountPoint{Type: mount.Type(v.Type), Source: v.Source, Destination: v.Target, RW: !v.ReadOnly}
		if p.Type != mount.TypeVolume {
			all = append(all, p)
			continue
		}
		p.Name = v.Source
		of := m.Volumes[v.Source]
		all = append(all, shows.Reveal(p, of.Driver, of.Options)...)
	}
	return all
}
