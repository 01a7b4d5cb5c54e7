// SPDX-License-Identifier: Apache-2.0

package container

import "golang.org/x/sys/unix"

// holdsDisk reports whether source is the disk of path. It does not recognise the disks of file systems with
// their own device numbers, such as btrfs and ZFS.
func holdsDisk(source, path string) bool {
	var disk, file unix.Stat_t
	return unix.Stat(source, &disk) == nil && disk.Mode&unix.S_IFMT == unix.S_IFBLK && unix.Stat(path, &file) == nil && disk.Rdev == file.Dev
}
