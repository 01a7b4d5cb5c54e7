// SPDX-License-Identifier: Apache-2.0

package watch

import "github.com/docker-hostexec/hostexec/exec/mount"

// covers reports whether one of two directories of the host is in the other, or is it, by
// whatever names: a mount table that cannot be read proves nothing.
func covers(a, b string) bool {
	v, err := mount.ReadView()
	if err != nil {
		return true
	}
	return v.Overlap(mount.Resolved(a), mount.Resolved(b))
}
