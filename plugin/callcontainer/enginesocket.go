// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// HasEngineSocket reports whether source is an engine's socket, or a directory that contains one. Engine sockets are
// the usual ones and those in sockets.
func HasEngineSocket(source string, sockets ...string) bool {
	if filepath.Base(source) == "docker.sock" {
		return true
	}
	return mount.OverlapsAny(source, append([]string{"/run/docker.sock", "/run/containerd/containerd.sock"}, sockets...)...)
}
