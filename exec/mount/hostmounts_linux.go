// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// mountOf returns the id of the mount of p, and the kernel's path of p. The id is 0 if it is not known.
func mountOf(p string) (id int, path string) {
	f, err := os.OpenFile(p, unix.O_PATH, 0)
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	path, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, ""
	}
	var st unix.Statx_t // Linux 5.8
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st); err != nil {
		return 0, path
	}
	return int(st.Mnt_id), path
}

// shows looks below root for each suffix of the path of file, and follows no symbolic link.
func shows(root, file string) bool {
	var want unix.Stat_t
	if unix.Lstat(file, &want) != nil {
		return false
	}
	top, err := dir.Hold(root)
	if err != nil {
		return false
	}
	defer top.Close()
	parts := strings.Split(strings.TrimPrefix(file, "/"), "/")
	for i := range parts {
		at, err := top.HoldBelow(path.Join(".", path.Join(parts[i:len(parts)-1]...)))
		if err != nil {
			continue
		}
		var got unix.Stat_t
		err = unix.Fstatat(at.FD(), parts[len(parts)-1], &got, unix.AT_SYMLINK_NOFOLLOW)
		at.Close()
		if err == nil && got.Dev == want.Dev && got.Ino != want.Ino {
			continue // another file of the same file system: two that are made within one tick have the same times
		}
		if err == nil && got.Mode == want.Mode && got.Size == want.Size && got.Mtim == want.Mtim && got.Ctim == want.Ctim {
			return true
		}
	}
	return false
}
