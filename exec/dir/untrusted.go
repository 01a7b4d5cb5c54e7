// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// UntrustedDir is a directory, held open, in which other users and containers may make any entries. Entries are reached
// only by names below the held directory. No link is followed, no device is opened, and no pipe except by Wakeup, and
// no file is made outside. A name is one path element: the caller checks names that it has not chosen. Like os.Root,
// the type has a method for each operation, and so more methods than other types.
type UntrustedDir struct {
	fd    int
	base  *Base  // its own
	rest  string // below base
	path  string // for messages
	steps []Step
}

// Step is a directory on the path of an UntrustedDir, as it was when it was opened.
type Step struct {
	Path string
	UID  int
	Mode fs.FileMode // permissions, and the sticky bit
}

// Entry describes an entry of an UntrustedDir.
type Entry struct {
	Regular  bool // a regular file without another name
	Dir      bool
	Mode     fs.FileMode // permissions
	Size     int64
	UID, GID int
	Mod      time.Time // which its owner can set
	Inode    uint64
}

// Version is an Entry's identity and state. It changes when the file is replaced or written. It may stay the same if
// the owner keeps the size and restores the time.
func (e Entry) Version() string {
	return fmt.Sprint(e.Inode, e.Size, e.Mod.UnixNano())
}

var (
	errLinked = errors.New("the file has another name")
	errLong   = errors.New("the file is longer than it may be")
)

// Access says who may use the directories that are made.
type Access int

const (
	ForOwner    Access = iota // only their owner
	ForEveryone               // all users: they can write to the last one, and pass through those before it
)

// MakeUntrustedDir is Base.Make for a base with one UntrustedDir. The caller closes the UntrustedDir.
func MakeUntrustedDir(base, rest string, access Access) (*UntrustedDir, error) {
	b, err := OpenBase(base)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return b.Make(rest, access)
}

// Steps returns the directories on the path below base if Make opened them. The last one is the UntrustedDir itself.
func (d *UntrustedDir) Steps() []Step { return d.steps }

// Path returns the path of the directory when it was opened, for messages.
func (d *UntrustedDir) Path() string { return d.path }

// FDPath returns a path of the held directory that is valid in this process only.
func (d *UntrustedDir) FDPath() string { return "/proc/self/fd/" + strconv.Itoa(d.fd) }

// InPlace reports whether the directory still has its name below its base, and the base its path: neither was deleted,
// moved or replaced. It reports true if that is unknown. No link is followed.
func (d *UntrustedDir) InPlace() bool { return d.base.InPlace() && inPlace(d.base.fd, d.rest, d.fd) }

// Key identifies the directory on this host, whatever its name.
func (d *UntrustedDir) Key() (string, error) { return dirKey(d.fd) }

// OpenedBy reports whether the process pid has the directory open, and whether its program has the file name of this
// process's program. It reports false if it may not inspect the process.
func (d *UntrustedDir) OpenedBy(pid int) bool { return openedBy(d.fd, pid) }

// ModTime returns when an entry was last added or removed. The owner of the directory can set that time.
func (d *UntrustedDir) ModTime() (time.Time, error) { return dirModTime(d.fd) }

// Names calls visit with each name in the directory until visit returns false.
func (d *UntrustedDir) Names(visit func(name string) bool) error {
	f, err := d.list()
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(512)
		for _, name := range names {
			if !visit(name) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Read returns the contents of the regular file called name, which must not have more than max bytes.
func (d *UntrustedDir) Read(name string, max int) ([]byte, Entry, error) {
	return d.read(name, max)
}

// TooLong reports whether err is the error of Read for a file with too many bytes.
func TooLong(err error) bool { return errors.Is(err, errLong) }

// Create makes the file called name, open for reading and writing. It replaces any entry except a directory. The file
// belongs to owner before it has this name. A negative UID means this process. If this process may not give the file
// away, all users may read and write it. The caller closes it.
func (d *UntrustedDir) Create(name string, owner Entry) (*os.File, error) {
	return d.create(name, owner)
}

// Write is like Create. The file contains text before it has this name.
func (d *UntrustedDir) Write(name string, text []byte, owner Entry) error {
	return d.write(name, text, owner)
}

// Reserve allocates n bytes of the directory's disk, in a file without a name. Closing it frees them. It fails if the
// file system does not support such files (open(2), O_TMPFILE).
func (d *UntrustedDir) Reserve(n int64) (*os.File, error) { return d.reserve(n) }

// Open opens the regular file called name for reading; the caller closes it.
func (d *UntrustedDir) Open(name string) (*os.File, Entry, error) { return d.open(name) }

// Append opens the regular file called name for writing at its end; the caller closes it.
func (d *UntrustedDir) Append(name string) (*os.File, Entry, error) { return d.append(name) }

// Removed reports whether f, which Create made, was removed.
func Removed(f *os.File) bool { return removed(f) }

// Stat describes the entry name without opening it.
func (d *UntrustedDir) Stat(name string) (Entry, error) { return d.stat(name) }

// Remove removes name unless it is a directory.
func (d *UntrustedDir) Remove(name string) error { return d.remove(name) }

// Put makes the file called name with text and mode in one step. This process owns it.
func (d *UntrustedDir) Put(name string, text []byte, mode fs.FileMode) error {
	return d.PutAt(name, text, mode, time.Now())
}

// PutAt is like Put, and sets the time of the last change to mod.
func (d *UntrustedDir) PutAt(name string, text []byte, mode fs.FileMode, mod time.Time) error {
	const making = ".making"
	f, err := d.Create(name+making, Entry{UID: -1})
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), setTime(f, mod), f.Close())
	if err == nil {
		err = d.rename(name+making, name)
	}
	if err != nil {
		_ = d.remove(name + making) // Create removes what is left
	}
	return err
}

// Close closes the directory. A second call does nothing.
func (d *UntrustedDir) Close() error {
	fd := d.fd
	d.fd = -1
	return errors.Join(closeFD(fd), d.base.Close())
}
