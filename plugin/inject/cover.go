// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"path"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Targets returns the mount points of the user's flags in the container. It does not return the image's
// volumes and those of --volumes-from, because the engine gives precedence to our own mount there.
func Targets(cfg *container.Config, host *container.HostConfig) []string {
	var all []string
	for _, b := range host.Binds {
		all = append(all, bindTarget(b))
	}
	for _, m := range host.Mounts {
		all = append(all, path.Clean(m.Target))
	}
	for t := range host.Tmpfs {
		all = append(all, path.Clean(t))
	}
	for t := range cfg.Volumes {
		all = append(all, path.Clean(t))
	}
	return all
}

// bindTarget parses source:target[:options]. A Linux path in it cannot contain a colon, but the source may
// be a Windows path.
func bindTarget(bind string) string {
	rest := bind
	if len(bind) > 2 && bind[1] == ':' && (bind[2] == '\\' || bind[2] == '/') {
		rest = bind[2:]
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 {
		return path.Clean(rest)
	}
	return path.Clean(parts[1])
}

// Clash returns the first of targets at or below Target. Such a mount would hide the share or a part of
// it.
func Clash(targets []string) (string, bool) {
	for _, t := range targets {
		if names.Within(t, Target) {
			return t, true
		}
	}
	return "", false
}

// Covered reports whether one of targets contains dir or a part of it. Files that are copied there would
// be in the user's directory or volume, or hidden.
func Covered(targets []string, dir string) bool {
	for _, t := range targets {
		if names.Within(dir, t) || names.Within(t, dir) {
			return true
		}
	}
	return false
}
