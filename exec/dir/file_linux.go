// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openFile holds the entry name of a directory, unless it is a link or another mount.
func openFile(dir int, name string) (*File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	f := &File{fd: fd, name: name}
	var st unix.Statx_t
	// DONT_SYNC: the file system may be the container's own, and never answer.
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		err = errLink
	case mountID(fd) != mountID(dir):
		err = errMount
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		f.mode = fs.ModeDir
	case unix.S_IFREG:
	default:
		f.mode = fs.ModeIrregular
	}
	return f, nil
}

func openPlain(path string) (*os.File, error) { return openChecked(path, unix.O_NOFOLLOW) }

func openRegular(path string) (*os.File, error) { return openChecked(path, 0) }

// openChecked checks the held file before it opens it.
func openChecked(path string, how int) (*os.File, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|how, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errNotPlain
	}
	return reopenFile(fd, os.O_RDONLY)
}

// reopenFlags are for opening a held file: the open does not wait, and a terminal does not become the controlling one.
const reopenFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// reopenFile opens the regular file that fd holds. It does not wait for a lease, whose holder may keep it for 45 s and
// would block a thread for each call meanwhile (fcntl(2)).
func reopenFile(fd, how int) (*os.File, error) {
	return os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), how|reopenFlags, 0)
}
