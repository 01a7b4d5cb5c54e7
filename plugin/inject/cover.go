// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"path"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// Targets returns where the user's flags mount something in the container, whatever it
// is. What the image declares as a volume, or another container lends by
// --volumes-from, is not among them: the engine lets our own mount go first there.
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

// bindTarget reads source:target[:options]. A Linux path in it may hold no colon, but a
// source may be a Windows path.
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

// Within reports whether p is dir or lies below it, by whole elements.
func Within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// Clash returns the first of targets that lies at or below Target: it would hide the
// share, or what is in it.
func Clash(targets []string) (string, bool) {
	for _, t := range targets {
		if Within(t, Target) {
			return t, true
		}
	}
	return "", false
}

// Covered reports whether one of targets holds dir, or a part of it: what is copied
// there would land in the user's own directory or volume, or be hidden.
func Covered(targets []string, dir string) bool {
	for _, t := range targets {
		if Within(dir, t) || Within(t, dir) {
			return true
		}
	}
	return false
}
