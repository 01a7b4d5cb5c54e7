// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Resolved returns path without symbolic links if it exists, and otherwise only cleaned.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// OverlapsAny reports whether source is one of paths, or lies above or below one of them.
func OverlapsAny(source string, paths ...string) bool {
	source = Resolved(source)
	return slices.ContainsFunc(paths, func(p string) bool {
		p = Resolved(p)
		return names.Within(p, source) || names.Within(source, p)
	})
}
