// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package container

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func freeSpace(path string) diskFree {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return diskFree{}
	}
	return diskFree{bytes: int64(st.Bfree) * int64(st.Bsize), files: int64(st.Ffree)}
}

// onDisk returns the disk space of a file, without its holes.
func onDisk(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return fi.Size()
}
