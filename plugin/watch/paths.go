// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// covers reports whether one of two directories of the host is in the other, or is it, by
// whatever names: a mount table that cannot be read proves nothing.
func covers(a, b string) bool {
	v, err := mount.ReadView()
	if err != nil {
		return true
	}
	return v.Overlap(resolved(a), resolved(b))
}

// resolved follows symbolic links where path exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// within reports whether path is dir or below it, by whole elements.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// engineIn reports whether source is an engine's socket, or a directory that holds one: one of
// those where it usually is, or of sockets.
func engineIn(source string, sockets ...string) bool {
	if filepath.Base(source) == "docker.sock" {
		return true
	}
	return shownIn(source, append([]string{"/run/docker.sock", "/run/containerd/containerd.sock"}, sockets...)...)
}

// shownIn reports whether source is one of paths, or holds one, or is below one.
func shownIn(source string, paths ...string) bool {
	source = resolved(source)
	return slices.ContainsFunc(paths, func(p string) bool {
		p = resolved(p)
		return within(p, source) || within(source, p)
	})
}
