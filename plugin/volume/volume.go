// SPDX-License-Identifier: Apache-2.0

// Package volume finds out which files of this host a volume contains.
//
// An option of a local volume counts as a path unless it is known not to be one. Of other drivers, each option that is
// an absolute path counts. The package sends no requests: driver and options come from an engine.
package volume

import (
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// HostFiles returns the host files behind m, a mount of a volume with this driver and these options. The
// first result is m itself, as a bind mount if the volume is a bind of a host directory. The others are
// the parts of m, such as the directories of an overlay or a device. They are bind mounts without a
// destination. An empty source means that the part is unknown.
func HostFiles(m container.MountPoint, driver string, opts map[string]string) []container.MountPoint {
	all := []container.MountPoint{m}
	if driver != "" && driver != "local" {
		for _, v := range opts { // local-persist calls the path mountpoint; other drivers use other names
			if path.IsAbs(v) {
				all = append(all, part(m, v))
			}
		}
		return all
	}
	device, options := opts["device"], strings.Split(opts["o"], ",")
	switch typ := opts["type"]; {
	case slices.ContainsFunc(options, func(o string) bool { return o == "bind" || o == "rbind" }): // mount(2) ignores the type
		all[0].Type, all[0].Source = mount.TypeBind, fromRoot(device)
	case slices.Contains(typesWithoutHostFiles, typ):
	case typ == "proc": // the engine's own /proc, whatever the device is
		all = append(all, part(m, "/proc"))
	case strings.Contains(device+opts["o"], `\`): // file systems differ in how they escape commas and colons in names
		all = append(all, part(m, ""))
	default:
		if device != "" {
			all = append(all, part(m, fromRoot(device)))
		}
		for _, option := range options {
			all = append(all, optionParts(m, option)...)
		}
	}
	return all
}

// typesWithoutHostFiles lists file system types without files of this host.
var typesWithoutHostFiles = []string{"tmpfs", "ramfs", "nfs", "nfs4", "cifs", "smb3", "ceph"}

// optionParts returns the parts in a mount option, such as the lists of directories of an overlay. Lower
// directories are read-only.
func optionParts(m container.MountPoint, option string) (all []container.MountPoint) {
	key, value, _ := strings.Cut(option, "=")
	m.RW = m.RW && !strings.HasPrefix(key, "lowerdir") && !strings.HasPrefix(key, "datadir")
	for _, p := range strings.Split(value, ":") {
		if p != "" {
			all = append(all, part(m, fromRoot(p)))
		}
	}
	return all
}

// fromRoot resolves p relative to /, the engine's working directory under systemd and its own init scripts.
func fromRoot(p string) string { return path.Join("/", p) }

func part(m container.MountPoint, source string) container.MountPoint {
	m.Type, m.Source, m.Destination = mount.TypeBind, source, ""
	return m
}
