// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// minFreeSpace is the free space in bytes below which a disk counts as full, because a write can fail although a little
// space is left.
const minFreeSpace = 64 << 10

// full returns the error of a writer to f's disk if that has no space left, or nil. A file system that
// does not count its blocks is not full.
func full(f *os.File) error {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil || st.Blocks == 0 {
		return nil
	}
	free := st.Bavail
	if os.Geteuid() == 0 {
		free = st.Bfree
	}
	if free*uint64(st.Bsize) >= minFreeSpace {
		return nil
	}
	return &os.PathError{Op: "write", Path: f.Name(), Err: unix.ENOSPC}
}
