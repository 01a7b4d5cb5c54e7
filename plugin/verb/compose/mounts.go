// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	shows "github.com/docker-hostexec/hostexec/plugin/volume"
)

// Lender is a container whose mounts a service's will have, too, and of which the model knows
// nothing more.
type Lender struct {
	Container string
	ReadOnly  bool
}

// Mounts are those that a service's containers will have, as the engine would show them, but
// those of lenders. What volumes show of this host's files is among them, and what compose
// will mount or copy for other keys.
func (m *Model) Mounts(name string) (all []container.MountPoint, lenders []Lender) {
	all, lenders = m.mounts(name, false, map[lending]bool{})
	for _, w := range m.Services[name].Develop.Watch {
		if strings.HasPrefix(w.Action, "sync") { // what compose copies, who is in the container reads
			all = append(all, container.MountPoint{Type: mount.TypeBind, Source: w.Path})
		}
	}
	return all, lenders
}

// lending is a service whose mounts are those of another, as far as is known.
type lending struct {
	service  string
	readOnly bool
}

func (m *Model) mounts(name string, readOnly bool, seen map[lending]bool) (all []container.MountPoint, lenders []Lender) {
	if seen[lending{name, readOnly}] {
		return nil, nil
	}
	seen[lending{name, readOnly}] = true
	s := m.Services[name]
	for _, v := range s.Volumes {
		all = append(all, m.mount(v)...)
	}
	all = append(all, files(s.Secrets, m.Secrets, secretsAt)...)
	all = append(all, files(s.Configs, m.Configs, configsAt)...)
	if s.Socket {
		const socket = "/var/run/docker.sock"
		all = append(all, container.MountPoint{Type: mount.TypeBind, Source: socket, Destination: socket, RW: true})
	}
	for _, from := range s.VolumesFrom {
		l := lender(from)
		l.ReadOnly = l.ReadOnly || readOnly
		if other, ok := strings.CutPrefix(l.Container, "container:"); ok {
			lenders = append(lenders, Lender{other, l.ReadOnly})
			continue
		}
		lent, more := m.mounts(l.Container, l.ReadOnly, seen)
		all = Lend(all, lent, l.ReadOnly)
		lenders = append(lenders, more...)
	}
	return all, lenders
}

// lender reads a value of volumes_from: a service, or container:NAME.
func lender(from string) Lender {
	rest, readOnly := strings.CutSuffix(from, ":ro")
	return Lender{strings.TrimSuffix(rest, ":rw"), readOnly}
}

// Lend returns have with what another container lends: where both mount something, it has
// its own.
func Lend(have, lent []container.MountPoint, readOnly bool) []container.MountPoint {
	own, taken := slices.Clone(have), false
	for _, p := range lent {
		if p.Destination != "" { // else it is a part of the one before
			taken = slices.ContainsFunc(have, func(h container.MountPoint) bool { return path.Clean(h.Destination) == path.Clean(p.Destination) })
		}
		if taken {
			continue
		}
		p.RW = p.RW && !readOnly
		own = append(own, p)
	}
	return own
}

// mount is a mount of the model as the engine would show it.
func (m *Model) mount(v Volume) []container.MountPoint {
	p := container.MountPoint{Type: mount.Type(v.Type), Source: v.Source, Destination: v.Target, RW: !v.ReadOnly, Propagation: mount.Propagation(v.Bind.Propagation)}
	if p.Type != mount.TypeVolume {
		return []container.MountPoint{p}
	}
	p.Name = v.Source
	of := m.Volumes[v.Source]
	return shows.HostFiles(p, of.Driver, of.Options)
}

// files are the mounts of those secrets or configs that are files of the host's.
func files(given []Given, known map[string]File, base string) (all []container.MountPoint) {
	for _, g := range given {
		if file := known[g.Source].File; file != "" {
			all = append(all, container.MountPoint{Type: mount.TypeBind, Source: file, Destination: g.at(base)})
		}
	}
	return all
}

// Where compose puts what does not say.
const secretsAt, configsAt = "/run/secrets", "/"

func (g Given) at(base string) string {
	target := cmp.Or(g.Target, g.Source)
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(base, target)
}
