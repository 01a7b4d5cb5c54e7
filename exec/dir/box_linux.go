// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// makeBelow opens rest below base one element at a time, and makes those that are missing.
func makeBelow(base *Base, rest string, access Access) (int, []Step, error) {
	at, err := openSource(base.fd, ".")
	if err != nil || rest == "." {
		return at, nil, err
	}
	var steps []Step
	elements := strings.Split(rest, "/")
	for i, name := range elements {
		mode := uint32(0o700)
		switch {
		case access != ForEveryone:
		case i == len(elements)-1:
			mode = 0o777
		default:
			mode = 0o711
		}
		next, err := makeOne(at, name, mode)
		unix.Close(at)
		if err != nil {
			return -1, nil, err
		}
		at = next
		step, err := stepOf(at)
		if err != nil {
			unix.Close(at)
			return -1, nil, err
		}
		step.Path = path.Join(base.path, path.Join(elements[:i+1]...))
		steps = append(steps, step)
	}
	return at, steps, nil
}

func stepOf(fd int) (Step, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	mode := fs.FileMode(st.Mode & 0o777)
	if st.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return Step{UID: int(st.Uid), Mode: mode}, err
}

func makeOne(at int, name string, mode uint32) (int, error) {
	if name == ".." {
		return -1, unix.EXDEV
	}
	merr := unix.Mkdirat(at, name, 0o700)
	if merr != nil && merr != unix.EEXIST {
		return -1, merr
	}
	fd, err := unix.Openat(at, name, openFlags|unix.O_NOFOLLOW, 0)
	if err == unix.ENOTDIR && isLink(at, name) {
		return -1, errLink
	}
	if err == nil && merr == nil {
		if err = setMode(fd, mode); err != nil {
			unix.Close(fd)
		}
	}
	return fd, err
}

// setMode gives a directory that was just made its mode. The umask is the whole process's, and
// so that of commands which start now: it is left alone. A directory that came into the place of
// the new one has something in it, or else nothing to lose: only an empty one is opened up.
func setMode(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&0o777 == mode {
		return err
	}
	f, err := reopenFile(fd, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return errors.Join(errReplaced, err)
	}
	return f.Chmod(fs.FileMode(mode))
}

func sharedKey(fd int) (string, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return keyOf(&st), err
}

func keyOf(st *unix.Stat_t) string { return fmt.Sprintf("%x-%x", st.Dev, st.Ino) }

// realOf returns what the directory fd is called now.
func realOf(fd int) (string, error) { return name("/proc/self/fd/" + strconv.Itoa(fd)) }

// named reports whether rest below base is the directory inner. What cannot be found out for
// want of descriptors, for one, is taken to be so.
func named(base int, rest string, inner int) bool {
	fd, err := openSource(base, rest)
	switch err {
	case nil:
		defer unix.Close(fd)
		return Same(fd, inner)
	case unix.ENOENT, unix.ENOTDIR, errLink:
		return false
	}
	return true
}

func openedBy(fd, pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	ours, err := os.Readlink("/proc/self/exe")
	theirs, terr := os.Readlink(proc + "/exe")
	if err != nil || terr != nil || filepath.Base(ours) != filepath.Base(theirs) {
		return false
	}
	key, err := sharedKey(fd)
	fds, ferr := os.ReadDir(proc + "/fd")
	return err == nil && ferr == nil && slices.ContainsFunc(fds, func(e os.DirEntry) bool {
		var st unix.Stat_t
		return unix.Stat(proc+"/fd/"+e.Name(), &st) == nil && keyOf(&st) == key
	})
}

func sharedModTime(fd int) (time.Time, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return time.Unix(st.Mtim.Unix()), err
}

func (b *SharedDir) list() (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(b.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), b.path), nil
}

func entry(st *unix.Stat_t) Entry {
	kind := st.Mode & unix.S_IFMT
	return Entry{
		Regular: kind == unix.S_IFREG && st.Nlink == 1,
		Dir:     kind == unix.S_IFDIR,
		Mode:    fs.FileMode(st.Mode & 0o777),
		Size:    st.Size,
		UID:     int(st.Uid),
		GID:     int(st.Gid),
		Mod:     time.Unix(st.Mtim.Unix()),
		Inode:   st.Ino,
	}
}

func (b *SharedDir) stat(name string) (Entry, error) {
	var st unix.Stat_t
	err := unix.Fstatat(b.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return entry(&st), err
}

func (b *SharedDir) open(name string) (*os.File, Entry, error) { return b.openAs(name, os.O_RDONLY) }

func (b *SharedDir) append(name string) (*os.File, Entry, error) {
	return b.openAs(name, os.O_WRONLY|os.O_APPEND)
}

// openAs looks at what is held before it opens it.
func (b *SharedDir) openAs(name string, how int) (*os.File, Entry, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(b.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, Entry{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, Entry{}, err
	}
	e := entry(&st)
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, e, errNotPlain
	case !e.Regular:
		return nil, e, errLinked
	}
	f, err := reopenFile(fd, how)
	return f, e, err
}

// create makes the file under another name first: who sees it may have it already. What can
// be done to that name meanwhile is to what others see, and not to the file that is held.
func (b *SharedDir) create(name string, text []byte, owner Entry) (*os.File, error) {
	making := "." + name + ".new"
	fd, err := b.exclusive(making)
	if err != nil {
		return nil, err
	}
	give(fd, owner)
	f := os.NewFile(uintptr(fd), name)
	if len(text) > 0 {
		_, err = f.Write(text)
	}
	if err == nil {
		err = b.rename(making, name)
	}
	if err != nil {
		b.remove(making)
		f.Close()
		return nil, err
	}
	return f, nil
}

// exclusive has the kernel make a file or say that there is something: that goes, and is
// tried no oftener than somebody can mean well by it. Its mode does not depend on the umask.
func (b *SharedDir) exclusive(name string) (int, error) {
	const how = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for range 3 {
		fd, err := unix.Openat(b.fd, name, how, 0o600)
		if err == nil {
			if err = unix.Fchmod(fd, 0o600); err != nil {
				unix.Close(fd)
			}
			return fd, err
		}
		if err != unix.EEXIST {
			return -1, err
		}
		if err := b.remove(name); err != nil && err != unix.ENOENT {
			return -1, err
		}
	}
	return -1, unix.EEXIST
}

// give makes the file owner's. Where that is not for us to do everybody may have it, for
// nobody knows whose groups owner is in.
func give(fd int, owner Entry) {
	euid := os.Geteuid()
	switch {
	case owner.UID < 0 || owner.UID == euid:
	case euid == 0 && unix.Fchown(fd, owner.UID, owner.GID) == nil:
	default:
		unix.Fchmod(fd, 0o666) // the reader who cannot read says so
	}
}

func (b *SharedDir) rename(from, to string) error { return unix.Renameat(b.fd, from, b.fd, to) }

func (b *SharedDir) remove(name string) error { return unix.Unlinkat(b.fd, name, 0) }

// setTime sets when f was last read and written.
func setTime(f *os.File, mod time.Time) error {
	tv := unix.NsecToTimeval(mod.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
}

func unnamed(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
