// SPDX-License-Identifier: Apache-2.0

package doctor

import "golang.org/x/sys/unix"

// ownerOf returns the uid of the owner of path, or -1.
func ownerOf(path string) int {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return -1
	}
	return int(st.Uid)
}
