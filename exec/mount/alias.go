// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// belowAlias is like names.CutDir for directories of this host, and also compares device and inode. A directory can
// have several names, by a bind mount or because the file system ignores case. The paths must not have links.
func belowAlias(p, dir string) (rest string, ok bool) {
	if rest, ok = names.CutDir(p, dir); ok {
		return rest, true
	}
	top, err := os.Lstat(dir)
	if err != nil || !path.IsAbs(dir) || !path.IsAbs(p) { // a tmpfs has no path here
		return "", false
	}
	for at := p; ; at = path.Dir(at) {
		if fi, err := os.Lstat(at); err == nil && os.SameFile(fi, top) {
			return names.CutDir(p, at)
		}
		if at == path.Dir(at) {
			return "", false
		}
	}
}
