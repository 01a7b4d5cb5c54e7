// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"os/exec"
	"path/filepath"
)

// LookPath searches the program name in the absolute directories of path, a PATH. It skips relative
// directories, because the container can often write the current directory.
func LookPath(name, path string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		// For a path with a directory, exec.LookPath only checks that the file is executable.
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, true
		}
	}
	return "", false
}
