// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"
)

// below is cut for two directories of this host, where names do not tell all: one directory
// has several by a bind mount, and where upper and lower case are the same. Device and inode
// tell then. Neither path may have a link in it.
func below(p, dir string) (rest string, ok bool) {
	if rest, ok = cutPrefix(p, dir); ok {
		return rest, true
	}
	top, err := os.Lstat(dir)
	if err != nil || !path.IsAbs(dir) || !path.IsAbs(p) { // a tmpfs has no path here
		return "", false
	}
	for at := p; ; at = path.Dir(at) {
		if fi, err := os.Lstat(at); err == nil && os.SameFile(fi, top) {
			return cutPrefix(p, at)
		}
		if at == path.Dir(at) {
			return "", false
		}
	}
}
