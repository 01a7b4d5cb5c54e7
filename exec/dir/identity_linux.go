// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountOf returns the id of the mount that p is on, and the path that the kernel has for p.
// The id is 0 where that is not known.
func mountOf(p string) (id uint64, path string) {
	fd, err := retry(func() (int, error) { return unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, ""
	}
	defer unix.Close(fd)
	path, err = name("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return 0, ""
	}
	return mountID(fd), path
}

// shows looks for file below root, through no symbolic link, by each end of its path.
func shows(root, file string) bool {
	var want unix.Stat_t
	if unix.Lstat(file, &want) != nil {
		return false
	}
	fd, err := openRoot(root)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	parts := strings.Split(strings.TrimPrefix(file, "/"), "/")
	for i := range parts {
		at, err := openSource(fd, path.Join(".", path.Join(parts[i:len(parts)-1]...)))
		if err != nil {
			continue
		}
		var got unix.Stat_t
		err = unix.Fstatat(at, parts[len(parts)-1], &got, unix.AT_SYMLINK_NOFOLLOW)
		unix.Close(at)
		if err == nil && got.Dev == want.Dev && got.Ino != want.Ino {
			continue // of one file system, so another file: two that are made within one tick have the same times
		}
		if err == nil && got.Mode == want.Mode && got.Size == want.Size && got.Mtim == want.Mtim && got.Ctim == want.Ctim {
			return true
		}
	}
	return false
}
