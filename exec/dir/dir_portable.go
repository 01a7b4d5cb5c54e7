// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This is what POSIX has for it, as macOS does, and Linux by the tag portable, where it is
// tested. There is no O_PATH: what is held is open for reading, so a directory that may only
// be passed through cannot be held. There is no openat2: each element is opened by itself.

// held is how every directory is opened: inherited by no command.
const held = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

var (
	errMoved = errors.New("it was moved or deleted meanwhile")
	errMount = errors.New("another file system is mounted there on the host")
	errLink  = errors.New("a symbolic link is on the way")
)

// openRoot holds a directory of the host by its path.
func openRoot(path string) (int, error) {
	return retry(func() (int, error) { return unix.Open(path, held, 0) })
}

// openHost holds a directory of the host and learns what it is called.
func openHost(path string) (*Dir, error) {
	fd, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	name, err := filepath.EvalSymlinks(path)
	if err == nil {
		err = inspect(fd, name)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{fd: fd, path: name}, nil
}

// openBelow holds the directory rest below root, which is called base, and sees that a
// command can start in it.
func openBelow(root int, base, rest string) (*Dir, error) {
	fd, err := walk(root, rest, false)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(base, rest)
	if err := inspect(fd, name); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{fd: fd, path: name}, nil
}

// inspect sees that the directory fd still is what is called name, and can be entered.
func inspect(fd int, name string) error {
	var ours, there unix.Stat_t
	if err := unix.Fstat(fd, &ours); err != nil {
		return err
	}
	if unix.Lstat(name, &there) != nil || ours.Dev != there.Dev || ours.Ino != there.Ino {
		return errMoved
	}
	return unix.Faccessat(fd, ".", unix.X_OK, unix.AT_EACCESS)
}

// openSource holds the directory rest below root, through no symbolic link.
func openSource(root int, rest string) (int, error) { return walk(root, rest, true) }

// walk opens rest below root, one element at a time: none is a link, none is "..", and unless
// it may lead across, none is on another file system.
func walk(root int, rest string, across bool) (int, error) {
	dir, err := retry(func() (int, error) { return unix.Openat(root, ".", held, 0) })
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(rest, "/") {
		next, err := step(dir, name, across)
		unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

func step(dir int, name string, across bool) (int, error) {
	if name == ".." {
		return -1, unix.EXDEV
	}
	next, err := retry(func() (int, error) { return unix.Openat(dir, name, held|unix.O_NOFOLLOW, 0) })
	if err == unix.ELOOP || err == unix.ENOTDIR && isLink(dir, name) {
		return -1, errLink
	}
	if err != nil {
		return -1, err
	}
	if !across && !sameDevice(dir, next) {
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

func sameDevice(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Dev == sb.Dev
}

// Same reports whether two descriptors are of one file.
func Same(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}

// openFile holds the entry name of a directory: a directory or a regular file, which is open
// from here on. What is neither is not opened, but between the look and the opening it can
// become so: then it is closed again.
func openFile(dir int, name string) (*File, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	f := &File{fd: -1, name: name}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil, errLink
	case unix.S_IFDIR:
		f.mode = fs.ModeDir
	case unix.S_IFREG:
	default:
		f.mode = fs.ModeIrregular
		return f, nil
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	f.fd = fd
	var now unix.Stat_t
	switch err = unix.Fstat(fd, &now); {
	case err != nil:
	case now.Dev != st.Dev || now.Ino != st.Ino:
		err = errMoved
	case !sameDevice(fd, dir):
		err = errMount
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openPlain opens a file and then looks what it is: a pipe keeps nobody waiting, but a device's
// driver is asked.
func openPlain(path string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, errNotPlain
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openHeld opens the regular file that fd holds, at its beginning: there is one reader at a
// time.
func openHeld(fd int) (*os.File, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "file")
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// holds reports whether the entry name of the directory dir is the directory inner.
func holds(dir int, name string, inner int) bool {
	fd, err := step(dir, name, true)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return Same(fd, inner)
}

// cloexecAll goes through the descriptors that there are.
func cloexecAll() error {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd) // the one that listed is gone again
		}
	}
	return nil
}

// retry repeats what was interrupted by a signal.
func retry(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func notDir(err error) bool { return err == unix.ENOTDIR }

func closeHeld(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// nameOf does not know: the path is what something was opened by.
func nameOf(int) (string, error) { return "", errSystem }

// Containers are not served here.

func openInside(int, string) (int, error) { return -1, errSystem }
func covered(int, string) error           { return errSystem }
