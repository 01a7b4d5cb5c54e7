// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"os/exec"
	"path/filepath"
)

// LookPath searches the absolute directories of path, a PATH, for the program name. The
// others mean the directory that something was started in, which is often the one that a
// container may write.
func LookPath(name, path string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		// With a directory before it, LookPath only checks that it can be executed.
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, true
		}
	}
	return "", false
}
