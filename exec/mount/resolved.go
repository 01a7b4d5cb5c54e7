// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Resolved follows symbolic links where path exists.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// ShownIn reports whether source is one of paths, or holds one, or is below one.
func ShownIn(source string, paths ...string) bool {
	source = Resolved(source)
	return slices.ContainsFunc(paths, func(p string) bool {
		p = Resolved(p)
		return names.Within(p, source) || names.Within(source, p)
	})
}
