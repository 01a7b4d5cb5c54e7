// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openFlags are for holding directories: not for reading, and not inherited by commands.
const openFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

var (
	errMount = errors.New("another file system is mounted there on the host")
	errLink  = errors.New("a symbolic link is on the way")
)

// openRoot holds a directory of the host by its path.
func openRoot(path string) (int, error) {
	return retry(func() (int, error) { return unix.Open(path, openFlags, 0) })
}

// openHost holds a directory of the host and finds out its path.
func openHost(path string) (*Dir, error) {
	fd, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	name, err := inspect(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{fd: fd, path: name}, nil
}

// openAcrossMounts holds the directory rest below root. It follows no symbolic link, but crosses mount points, because
// the user chose the sources of mounts.
func openAcrossMounts(root int, rest string) (int, error) {
	return resolve(root, rest, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// openInRoot holds the directory name below root, the root directory of a container. It resolves links as the container
// does; without openat2(2) it returns an error for them.
func openInRoot(root int, name string) (int, error) {
	return resolve(root, name, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
}

func covered(dir int, name string) error {
	above, err := openAcrossMounts(dir, path.Dir(name))
	if err != nil {
		return err
	}
	defer unix.Close(above)
	fd, err := retry(func() (int, error) {
		return unix.Openat(above, path.Base(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if mountID(fd) == mountID(above) {
		return ErrReplaced
	}
	return nil
}

func openBelow(root int, rest string) (*Dir, error) {
	fd, err := resolve(root, rest, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_XDEV)
	if err != nil {
		return nil, err
	}
	path, err := inspect(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{fd: fd, path: path}, nil
}

func isEntry(dir int, name string, inner int) bool {
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, openFlags|unix.O_NOFOLLOW, 0) })
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return Same(fd, inner)
}

// inspect returns the path of the directory fd, or the reason why no command can start in it.
func inspect(fd int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Nlink == 0 {
		return "", ErrDeleted
	}
	// O_PATH asks for no permission on the directory itself; chdir will.
	if err := unix.Faccessat(fd, ".", unix.X_OK, unix.AT_EACCESS); err != nil {
		return "", err
	}
	return pathOf(fd)
}

// pathOf returns the current path of the directory fd. A buffer for the longest possible path would double the stack of
// each call while it runs.
func pathOf(fd int) (string, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
		if err != nil {
			return "", err
		}
		if n < size || size > unix.PathMax {
			return string(buf[:n]), nil
		}
	}
}

// resolve opens rest below root with openat2(2), or step by step if the kernel lacks it. os.Root cannot replace it:
// it has nothing like RESOLVE_NO_SYMLINKS and RESOLVE_NO_XDEV.
func resolve(root int, rest string, how uint64) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(root, rest, &unix.OpenHow{Flags: openFlags, Resolve: how})
	})
	switch err {
	case unix.ENOSYS, unix.EPERM:
		return walk(root, rest, how)
	case unix.ELOOP:
		return -1, errLink
	case unix.EXDEV:
		return -1, errMount
	}
	return fd, err
}

// walk is resolve without openat2: it opens one element after the other, and none may be a link or "..".
func walk(root int, rest string, how uint64) (int, error) {
	dir, err := unix.Openat(root, ".", openFlags, 0)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(rest, "/") {
		next, err := step(dir, name, how)
		unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

func step(dir int, name string, how uint64) (int, error) {
	if name == ".." {
		return -1, unix.EXDEV
	}
	next, err := unix.Openat(dir, name, openFlags|unix.O_NOFOLLOW, 0)
	if err == unix.ENOTDIR && isLink(dir, name) {
		return -1, errLink
	}
	if err != nil {
		return -1, err
	}
	if how&unix.RESOLVE_NO_XDEV != 0 && mountID(next) != mountID(dir) {
		unix.Close(next)
		return -1, errMount
	}
	return next, nil
}

func isLink(dir int, name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// mountID identifies the mount that fd is on (Linux 5.8).
func mountID(fd int) uint64 {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st); err != nil {
		return 0
	}
	return st.Mnt_id
}

// retry repeats open on EINTR and EAGAIN: openat2 fails with EAGAIN if a rename anywhere on the system may have
// interfered (openat2(2)).
func retry(open func() (int, error)) (int, error) {
	for range 1000 {
		fd, err := open()
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

func closeFD(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}
