// SPDX-License-Identifier: Apache-2.0

package container

import "golang.org/x/sys/unix"

// holdsDisk reports whether source is the disk that path is on. File systems that have numbers of
// their own for what is on their disks, as btrfs and ZFS do, are not seen through.
func holdsDisk(source, path string) bool {
	var disk, file unix.Stat_t
	return unix.Stat(source, &disk) == nil && disk.Mode&unix.S_IFMT == unix.S_IFBLK && unix.Stat(path, &file) == nil && disk.Rdev == file.Dev
}
