// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"time"
)

// Box is a directory into which others may put what they like, held open. What is in it is
// reached by a name below the held directory and in no other way: no link is followed, no
// device or pipe is opened, nothing is made by a name that leads elsewhere. A name is one
// element; whoever takes it from the directory has looked at it before.
type Box struct {
	fd   int
	path string
}

// Entry is what a Box has under a name.
type Entry struct {
	Regular  bool // a regular file, and under no other name
	Dir      bool
	Size     int64
	UID, GID int
	Mod      time.Time // which its owner can set
	Inode    uint64
}

// Mark is an Entry's identity and state: it changes when the file is replaced or written.
func (e Entry) Mark() string {
	return fmt.Sprint(e.Inode, e.Size, e.Mod.UnixNano())
}

var (
	errLinked = errors.New("the file has another name")
	errLong   = errors.New("the file is longer than it may be")
)

// MakeBox holds the directory rest below base, and makes what is missing of it: the last
// element for everybody, those before it to be passed through. base is a path of the
// host's; below it no link is followed. The caller closes it.
func MakeBox(base, rest string) (*Box, error) {
	rest = path.Clean(rest)
	fd, err := makeBelow(base, rest)
	if err != nil {
		return nil, fmt.Errorf("make directory %s: %w", strconv.QuoteToASCII(path.Join(base, rest)), err)
	}
	return &Box{fd: fd, path: path.Join(base, rest)}, nil
}

// Path returns what the directory was called when it was opened, for people.
func (b *Box) Path() string { return b.path }

// Held returns a path that leads to the held directory in this process only.
func (b *Box) Held() string { return "/proc/self/fd/" + strconv.Itoa(b.fd) }

// Key tells the directory from all others of this host, whatever it is called.
func (b *Box) Key() (string, error) { return boxKey(b.fd) }

// HeldBy reports whether the process pid, which runs the same program as this one, has the
// directory open. It reports false for what it may not look at.
func (b *Box) HeldBy(pid int) bool { return boxHeldBy(b.fd, pid) }

// Mod returns when an entry was last added or removed. Who owns the directory can set it.
func (b *Box) Mod() (time.Time, error) { return boxMod(b.fd) }

// Names calls visit with each name in the box, however many there are, until it returns
// false.
func (b *Box) Names(visit func(name string) bool) error {
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
func (b *Box) Read(name string, max int) ([]byte, Entry, error) {
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
func (b *Box) Create(name string, owner Entry) (*os.File, error) { return b.create(name, nil, owner) }

// Write is Create with text in the file when it can be seen.
func (b *Box) Write(name string, text []byte, owner Entry) error {
	f, err := b.create(name, text, owner)
	if err == nil {
		err = f.Close()
	}
	return err
}

// Open opens the regular file name for reading; the caller closes it.
func (b *Box) Open(name string) (*os.File, Entry, error) { return b.open(name) }

// Unnamed reports whether f, made by Create, has no name any more: somebody has removed it.
func Unnamed(f *os.File) bool { return unnamed(f) }

// Stat looks at what name is, without opening it.
func (b *Box) Stat(name string) (Entry, error) { return b.stat(name) }

// Rename gives the file from the name to, in place of whatever has that but a directory.
func (b *Box) Rename(from, to string) error { return b.rename(from, to) }

// Remove removes name unless it is a directory.
func (b *Box) Remove(name string) error { return b.remove(name) }

// Put makes name, in one step, a file of ours with that text and mode.
func (b *Box) Put(name string, text []byte, mode fs.FileMode) error {
	const making = ".making"
	f, err := b.Create(name+making, Entry{UID: -1})
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = b.Rename(name+making, name)
	}
	return err
}

// Close lets the directory go. A second call does nothing.
func (b *Box) Close() error {
	fd := b.fd
	b.fd = -1
	return closeHeld(fd)
}
