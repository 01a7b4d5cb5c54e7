// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func sharedKey(fd int) (string, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return keyOf(&st), err
}

func keyOf(st *unix.Stat_t) string { return fmt.Sprintf("%x-%x", st.Dev, st.Ino) }

// realOf returns the current path of the directory fd.
func realOf(fd int) (string, error) { return name("/proc/self/fd/" + strconv.Itoa(fd)) }

// named reports whether rest below base is the directory inner. If that cannot be found out, for example without free
// descriptors, it reports true.
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

func (d *SharedDir) list() (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), d.path), nil
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

func (d *SharedDir) stat(name string) (Entry, error) {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return entry(&st), err
}

func (d *SharedDir) open(name string) (*os.File, Entry, error) { return d.openAs(name, os.O_RDONLY) }

func (d *SharedDir) append(name string) (*os.File, Entry, error) {
	return d.openAs(name, os.O_WRONLY|os.O_APPEND)
}

// openAs checks the held file before it opens it.
func (d *SharedDir) openAs(name string, how int) (*os.File, Entry, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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

// create makes the file under a temporary name, and renames it when it belongs to owner. Others can replace that name
// meanwhile, but not the file that is held.
func (d *SharedDir) create(name string, text []byte, owner Entry) (*os.File, error) {
	making := "." + name + ".new"
	fd, err := d.exclusive(making)
	if err != nil {
		return nil, err
	}
	give(fd, owner)
	f := os.NewFile(uintptr(fd), name)
	if len(text) > 0 {
		_, err = f.Write(text)
	}
	if err == nil {
		err = d.rename(making, name)
	}
	if err != nil {
		d.remove(making)
		f.Close()
		return nil, err
	}
	return f, nil
}

// exclusive makes a new file, whose mode does not depend on the umask. It removes an entry that has the name, and
// gives up if that happens three times.
func (d *SharedDir) exclusive(name string) (int, error) {
	const how = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for range 3 {
		fd, err := unix.Openat(d.fd, name, how, 0o600)
		if err == nil {
			if err = unix.Fchmod(fd, 0o600); err != nil {
				unix.Close(fd)
			}
			return fd, err
		}
		if err != unix.EEXIST {
			return -1, err
		}
		if err := d.remove(name); err != nil && err != unix.ENOENT {
			return -1, err
		}
	}
	return -1, unix.EEXIST
}

// give makes owner the owner of a file. If this process may not do that, everybody gets access: the groups of owner are not
// known.
func give(fd int, owner Entry) {
	euid := os.Geteuid()
	switch {
	case owner.UID < 0 || owner.UID == euid:
	case euid == 0 && unix.Fchown(fd, owner.UID, owner.GID) == nil:
	default:
		unix.Fchmod(fd, 0o666) // if it fails, the caller reports that it cannot read
	}
}

func (d *SharedDir) rename(from, to string) error { return unix.Renameat(d.fd, from, d.fd, to) }

func (d *SharedDir) remove(name string) error { return unix.Unlinkat(d.fd, name, 0) }

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
