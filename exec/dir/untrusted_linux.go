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

func dirKey(fd int) (string, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return keyOf(&st), err
}

func keyOf(st *unix.Stat_t) string { return fmt.Sprintf("%x-%x", st.Dev, st.Ino) }

// inPlace reports whether rest below base is the directory inner. If it cannot open rest, for example because there are
// no free descriptors, it reports true.
func inPlace(base int, rest string, inner int) bool {
	fd, err := openAcrossMounts(base, rest)
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
	key, err := dirKey(fd)
	fds, ferr := os.ReadDir(proc + "/fd")
	return err == nil && ferr == nil && slices.ContainsFunc(fds, func(e os.DirEntry) bool {
		var st unix.Stat_t
		return unix.Stat(proc+"/fd/"+e.Name(), &st) == nil && keyOf(&st) == key
	})
}

func dirModTime(fd int) (time.Time, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return time.Unix(st.Mtim.Unix()), err
}

func (d *UntrustedDir) list() (*os.File, error) {
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

func (d *UntrustedDir) stat(name string) (Entry, error) {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return entry(&st), err
}

func (d *UntrustedDir) open(name string) (*os.File, Entry, error) { return d.openAs(name, os.O_RDONLY) }

func (d *UntrustedDir) append(name string) (*os.File, Entry, error) {
	return d.openAs(name, os.O_WRONLY|os.O_APPEND)
}

func (d *UntrustedDir) openAs(name string, how int) (*os.File, Entry, error) {
	fd, e, err := d.hold(name)
	if err != nil {
		return nil, e, err
	}
	defer unix.Close(fd)
	f, err := reopenFile(fd, how)
	return f, e, err
}

// hold holds the regular file name without opening it. The caller closes the descriptor.
func (d *UntrustedDir) hold(name string) (int, Entry, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, Entry{}, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	e := entry(&st)
	switch {
	case err != nil:
		e = Entry{}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = errNotPlain
	case !e.Regular:
		err = errLinked
	}
	if err != nil {
		unix.Close(fd)
		return -1, e, err
	}
	return fd, e, nil
}

// read makes fewer system calls than os.ReadFile, because each call of the files carrier waits for two reads.
func (d *UntrustedDir) read(name string, max int) ([]byte, Entry, error) {
	held, e, err := d.hold(name)
	if err != nil {
		return nil, e, err
	}
	defer unix.Close(held)
	if e.Size > int64(max) {
		return nil, e, errLong
	}
	fd, err := retry(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(held), reopenFlags|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, e, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	text := make([]byte, e.Size+1)
	for n := 0; ; {
		m, err := retry(func() (int, error) { return unix.Read(fd, text[n:]) })
		if err != nil {
			return nil, e, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		n += m
		switch {
		case n > max:
			return text[:max+1], e, errLong
		case m == 0, n < len(text) && int64(n) >= e.Size:
			return text[:n], e, nil
		case n == len(text): // it grows
			text = append(text, make([]byte, min(len(text), max+1-len(text)))...)
		}
	}
}

// create makes the file under its name if this process is its owner. Otherwise it first makes it under another name, as
// write does.
func (d *UntrustedDir) create(name string, owner Entry) (*os.File, error) {
	if owner.UID < 0 || owner.UID == os.Geteuid() {
		fd, err := d.exclusive(name)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
	fd, err := d.replace(name, nil, owner)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *UntrustedDir) write(name string, text []byte, owner Entry) error {
	fd, err := d.replace(name, text, owner)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// replace makes the file under a temporary name, and renames it when it belongs to owner and contains text. Others can
// replace that name meanwhile, but not the file that is held.
func (d *UntrustedDir) replace(name string, text []byte, owner Entry) (fd int, err error) {
	making := "." + name + ".new"
	fd, err = d.exclusive(making)
	if err != nil {
		return -1, err
	}
	setOwner(fd, owner)
	for len(text) > 0 && err == nil {
		var n int
		n, err = retry(func() (int, error) { return unix.Write(fd, text) })
		text = text[max(n, 0):]
	}
	if err == nil {
		err = d.rename(making, name)
	}
	if err != nil {
		d.remove(making)
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// exclusive makes a new file, whose mode does not depend on the umask. It removes an entry that has the name, and
// gives up if that happens three times.
func (d *UntrustedDir) exclusive(name string) (int, error) {
	const how = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for range 3 {
		fd, err := unix.Openat(d.fd, name, how, 0o600)
		if err == nil {
			var st unix.Stat_t
			if err = unix.Fstat(fd, &st); err == nil && st.Mode&0o777 != 0o600 { // changing it costs more than asking
				err = unix.Fchmod(fd, 0o600)
			}
			if err != nil {
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

// setOwner makes owner the owner of a file. If this process may not do that, all users get access, because the groups
// of owner are not known.
func setOwner(fd int, owner Entry) {
	euid := os.Geteuid()
	switch {
	case owner.UID < 0 || owner.UID == euid:
	case euid == 0 && unix.Fchown(fd, owner.UID, owner.GID) == nil:
	default:
		unix.Fchmod(fd, 0o666) // if it fails, the caller reports that it cannot read
	}
}

func (d *UntrustedDir) rename(from, to string) error { return unix.Renameat(d.fd, from, d.fd, to) }

func (d *UntrustedDir) remove(name string) error { return unix.Unlinkat(d.fd, name, 0) }

// setTime sets when f was last read and written.
func setTime(f *os.File, mod time.Time) error {
	tv := unix.NsecToTimeval(mod.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
}

func removed(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
