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

// SharedDir is a directory into which others may put what they like, held open. What is in it is
// reached by a name below the held directory and in no other way: no link is followed, no
// device or pipe is opened, nothing is made by a name that leads elsewhere. A name is one
// element; whoever takes it from the directory has looked at it before.
type SharedDir struct {
	fd    int
	base  *Base  // its own
	rest  string // below base
	path  string // for people
	steps []Step
}

// Step is a directory on the way to a Box, as it was when it was opened.
type Step struct {
	Path string
	UID  int
	Mode fs.FileMode // permissions, and the sticky bit
}

// Entry is what a Box has under a name.
type Entry struct {
	Regular  bool // a regular file, and under no other name
	Dir      bool
	Mode     fs.FileMode // permissions
	Size     int64
	UID, GID int
	Mod      time.Time // which its owner can set
	Inode    uint64
}

// Version is an Entry's identity and state: it changes when the file is replaced or written.
func (e Entry) Version() string {
	return fmt.Sprint(e.Inode, e.Size, e.Mod.UnixNano())
}

var (
	errLinked = errors.New("the file has another name")
	errLong   = errors.New("the file is longer than it may be")
)

// Access is who may use the directories that MakeBox makes.
type Access int

const (
	ForOwner    Access = iota // nobody else
	ForEveryone               // all users: the last one is open, and those before it can be passed
)

// MakeSharedDir is Base.Make for a base of which there is but one box. The caller closes the box.
func MakeSharedDir(base, rest string, access Access) (*SharedDir, error) {
	b, err := OpenBase(base)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return b.Make(rest, access)
}

// Steps returns the directories below base that lead to the box; it is the last one itself.
func (b *SharedDir) Steps() []Step { return b.steps }

// Path returns what the directory was called when it was opened, for people.
func (b *SharedDir) Path() string { return b.path }

// FDPath returns a path that leads to the held directory in this process only.
func (b *SharedDir) FDPath() string { return "/proc/self/fd/" + strconv.Itoa(b.fd) }

// Named reports whether the box still has its name below its base, which is where it was: it was
// neither deleted nor moved, and nothing else has its name. No link is followed.
func (b *SharedDir) Named() bool { return b.base.Named() && named(b.base.fd, b.rest, b.fd) }

// Key tells the directory from all others of this host, whatever it is called.
func (b *SharedDir) Key() (string, error) { return sharedKey(b.fd) }

// OpenedBy reports whether the process pid, which runs the same program as this one, has the
// directory open. It reports false for what it may not look at.
func (b *SharedDir) OpenedBy(pid int) bool { return openedBy(b.fd, pid) }

// Mod returns when an entry was last added or removed. Who owns the directory can set it.
func (b *SharedDir) Mod() (time.Time, error) { return sharedModTime(b.fd) }

// Names calls visit with each name in the box, however many there are, until it returns
// false.
func (b *SharedDir) Names(visit func(name string) bool) error {
	f, err := b.list()
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

// Read returns all of the regular file name, which must not have more than max bytes.
func (b *SharedDir) Read(name string, max int) ([]byte, Entry, error) {
	f, e, err := b.Open(name)
	if err != nil {
		return nil, e, err
	}
	defer f.Close()
	if e.Size > int64(max) {
		return nil, e, errLong
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	if err == nil && len(text) > max {
		err = errLong
	}
	return text, e, err
}

// TooLong reports whether err is Read's, of a file that has more bytes than it may.
func TooLong(err error) bool { return errors.Is(err, errLong) }

// Create makes the file name, in place of whatever has that name but a directory, open for
// reading and writing. It is owner's as soon as it can be seen. The caller closes it.
func (b *SharedDir) Create(name string, owner Entry) (*os.File, error) {
	return b.create(name, nil, owner)
}

// Write is Create with text in the file when it can be seen.
func (b *SharedDir) Write(name string, text []byte, owner Entry) error {
	f, err := b.create(name, text, owner)
	if err == nil {
		err = f.Close()
	}
	return err
}

// Reserve takes n bytes of the directory's disk, in a file without a name. The caller closes it to give them back. It
// fails where the file system has no such files (open(2), O_TMPFILE).
func (b *SharedDir) Reserve(n int64) (*os.File, error) { return b.reserve(n) }

// Open opens the regular file name for reading; the caller closes it.
func (b *SharedDir) Open(name string) (*os.File, Entry, error) { return b.open(name) }

// Append opens the regular file name for writing at its end; the caller closes it.
func (b *SharedDir) Append(name string) (*os.File, Entry, error) { return b.append(name) }

// Unnamed reports whether f, made by Create, has no name any more: somebody has removed it.
func Unnamed(f *os.File) bool { return unnamed(f) }

// Stat looks at what name is, without opening it.
func (b *SharedDir) Stat(name string) (Entry, error) { return b.stat(name) }

// Rename gives the file from the name to, in place of whatever has that but a directory.
func (b *SharedDir) Rename(from, to string) error { return b.rename(from, to) }

// Remove removes name unless it is a directory.
func (b *SharedDir) Remove(name string) error { return b.remove(name) }

// Put makes name, in one step, a file of ours with that text and mode.
func (b *SharedDir) Put(name string, text []byte, mode fs.FileMode) error {
	return b.PutAt(name, text, mode, time.Now())
}

// PutAt is Put of a file that was last written at mod.
func (b *SharedDir) PutAt(name string, text []byte, mode fs.FileMode, mod time.Time) error {
	const making = ".making"
	f, err := b.Create(name+making, Entry{UID: -1})
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), setTime(f, mod), f.Close())
	if err == nil {
		err = b.Rename(name+making, name)
	}
	return err
}

// Close lets the directory go. A second call does nothing.
func (b *SharedDir) Close() error {
	fd := b.fd
	b.fd = -1
	return errors.Join(closeFD(fd), b.base.Close())
}
