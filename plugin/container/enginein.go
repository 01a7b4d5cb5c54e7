// SPDX-License-Identifier: Apache-2.0

package container

import (
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// EngineIn reports whether source is an engine's socket, or a directory that holds one: one of
// those where it usually is, or of sockets.
func EngineIn(source string, sockets ...string) bool {
	if filepath.Base(source) == "docker.sock" {
		return true
	}
	return mount.OverlapsAny(source, append([]string{"/run/docker.sock", "/run/containerd/containerd.sock"}, sockets...)...)
}
