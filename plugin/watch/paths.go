// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// covers reports whether two directories of the host are equal, or one contains the other, by any of their
// names. If the mount table cannot be read, it reports true.
func covers(a, b string) bool {
	v, err := mount.ReadView()
	if err != nil {
		return true
	}
	return v.Overlap(Resolved(a), Resolved(b))
}

// Resolved follows symbolic links where path exists.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// EngineIn reports whether source is an engine's socket, or a directory that holds one: one of
// those where it usually is, or of sockets.
func EngineIn(source string, sockets ...string) bool {
	if filepath.Base(source) == "docker.sock" {
		return true
	}
	return ShownIn(source, append([]string{"/run/docker.sock", "/run/containerd/containerd.sock"}, sockets...)...)
}

// ShownIn reports whether source is one of paths, or holds one, or is below one.
func ShownIn(source string, paths ...string) bool {
	source = Resolved(source)
	return slices.ContainsFunc(paths, func(p string) bool {
		p = Resolved(p)
		return names.Within(p, source) || names.Within(source, p)
	})
}
