// SPDX-License-Identifier: Apache-2.0

// Package volume tells which files of this host's a volume shows.
//
// Its one law: what it does not understand it does not pass over. It asks nobody: driver and
// options are what an engine says of a volume, or a compose file.
package volume

import (
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// Reveal returns m, a mount of the volume with that driver and those options, as what it is. The
// first is m: one that is a directory of the host's under another name is a bind mount. The
// others are what m is made of, an overlay's directories or a device: bind mounts without a
// destination. A source of "" is one that could not be made out.
func Reveal(m container.MountPoint, driver string, opts map[string]string) []container.MountPoint {
	all := []container.MountPoint{m}
	if driver != "" && driver != "local" {
		for _, v := range opts { // local-persist calls it mountpoint, others otherwise
			if path.IsAbs(v) {
				all = append(all, part(m, v))
			}
		}
		return all
	}
	device, words := opts["device"], strings.Split(opts["o"], ",")
	switch typ := opts["type"]; {
	case slices.ContainsFunc(words, func(w string) bool { return w == "bind" || w == "rbind" }): // of whatever type: mount(2) asks for none then
		all[0].Type, all[0].Source = mount.TypeBind, rooted(device)
	case slices.Contains(elsewhere, typ):
	case typ == "proc": // the engine's own, whatever device is said
		all = append(all, part(m, "/proc"))
	case strings.Contains(device+opts["o"], `\`): // by which file systems spell commas and colons in names, each in its own way
		all = append(all, part(m, ""))
	default:
		if device != "" {
			all = append(all, part(m, rooted(device)))
		}
		for _, w := range words {
			all = append(all, named(m, w)...)
		}
	}
	return all
}

// elsewhere are types of file systems that have nothing of this host's files.
var elsewhere = []string{"tmpfs", "ramfs", "nfs", "nfs4", "cifs", "smb3", "ceph"}

// named are the parts that an option of a mount names: an overlay has lists of them. Nothing is
// written to its lower ones.
func named(m container.MountPoint, option string) (all []container.MountPoint) {
	key, value, _ := strings.Cut(option, "=")
	m.RW = m.RW && !strings.HasPrefix(key, "lowerdir") && !strings.HasPrefix(key, "datadir")
	for _, p := range strings.Split(value, ":") {
		if p != "" {
			all = append(all, part(m, rooted(p)))
		}
	}
	return all
}

// rooted is where the engine finds p: systemd, and the engine's own scripts, start it in /.
func rooted(p string) string { return path.Join("/", p) }

func part(m container.MountPoint, source string) container.MountPoint {
	m.Type, m.Source, m.Destination = mount.TypeBind, source, ""
	return m
}
