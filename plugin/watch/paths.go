// SPDX-License-Identifier: Apache-2.0

package watch

import "github.com/docker-hostexec/hostexec/exec/mount"

// overlap reports whether two directories of the host are equal, or one contains the other, by any of their
// names. If the mount table cannot be read, it reports true.
func overlap(a, b string) bool {
	v, err := mount.ReadHostMounts()
	if err != nil {
		return true
	}
	return v.Overlap(mount.Resolved(a), mount.Resolved(b))
}
