// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// watched returns the change that adds a watch to the inotify instance fd of the thread. Without MetadataServer, a
// program could watch directories that it cannot read, and would learn which files are used there.
func (c *callingThread) watched(fd, path uint64, mask uint32) (ch change, err error) {
	flags := uint64(0)
	if mask&unix.IN_DONT_FOLLOW != 0 {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	ch, err = c.at(atCWD, path, flags, func(file int) (int64, error) {
		return c.watch(int(int32(fd)), file, mask&^unix.IN_DONT_FOLLOW) // file is opened already
	})
	ch.reads = true
	return ch, err
}

// watch has the thread's inotify instance watch file.
func (c *callingThread) watch(fd, file int, mask uint32) (int64, error) {
	thread, err := unix.PidfdOpen(c.tid, unix.PIDFD_THREAD)
	if err != nil {
		return 0, err
	}
	defer unix.Close(thread)
	instance, err := unix.PidfdGetfd(thread, fd, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(instance)
	wd, err := unix.InotifyAddWatch(instance, "/proc/self/fd/"+strconv.Itoa(file), mask)
	return int64(wd), err
}
