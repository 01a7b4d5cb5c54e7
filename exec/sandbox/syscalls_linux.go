// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import "golang.org/x/sys/unix"

// parser turns the arguments of a system call into a change.
type parser func(c *callingThread, a [6]uint64) (change, error)

// parsers has, by number, the system calls that change the mode, owner or times of a file, or watch it. Landlock has no
// access right for them, so MetadataServer makes these calls for the program. An architecture can have older calls as
// well.
var parsers = map[uint32]parser{
	unix.SYS_FCHMOD:    func(c *callingThread, a [6]uint64) (change, error) { return descriptor(a[0], chmod(a[1])), nil },
	unix.SYS_FCHMODAT:  func(c *callingThread, a [6]uint64) (change, error) { return c.at(a[0], a[1], 0, chmod(a[2])) },
	unix.SYS_FCHMODAT2: func(c *callingThread, a [6]uint64) (change, error) { return c.at(a[0], a[1], a[3], chmod(a[2])) },
	unix.SYS_FCHOWN:    func(c *callingThread, a [6]uint64) (change, error) { return descriptor(a[0], chown(a[1], a[2])), nil },
	unix.SYS_FCHOWNAT:  func(c *callingThread, a [6]uint64) (change, error) { return c.at(a[0], a[1], a[4], chown(a[2], a[3])) },
	unix.SYS_UTIMENSAT: func(c *callingThread, a [6]uint64) (change, error) {
		t, err := c.timespecs(a[2])
		return c.timed(a[0], a[1], a[3], t, err)
	},
	unix.SYS_INOTIFY_ADD_WATCH: func(c *callingThread, a [6]uint64) (change, error) { return c.watched(a[0], a[1], uint32(a[2])) },
}

// atCWD is unix.AT_FDCWD, the directory for calls that have no argument for a directory.
const atCWD = 1<<64 - 100

// descriptor returns a change of the file behind a descriptor.
func descriptor(fd uint64, do func(file int) (int64, error)) change {
	return change{dir: int(int32(fd)), self: true, apply: do}
}

// timed returns a change of times. Without a path the file is the one behind the descriptor dir.
func (c *callingThread) timed(dir, path, flags uint64, times *[2]unix.Timespec, err error) (change, error) {
	switch {
	case err != nil:
		return change{}, err
	case path == 0:
		return descriptor(dir, setTimes(times)), nil
	}
	return c.at(dir, path, flags, setTimes(times))
}
