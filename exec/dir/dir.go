// SPDX-License-Identifier: Apache-2.0

// Package dir holds directories of the host open, and safely opens files in them, although a container may write there.
//
//	a path from the host --Open--> held directory --OpenBelow, File--> a file that a container names
//
// Its invariant: a name that a container can change is looked up once, below a held directory, without symbolic links.
// HoldInRoot resolves these in the container's root. Only a file of the expected kind is opened. Later uses take the
// descriptor, never the path. os.Root is not enough: it follows links, crosses mounts, and opens devices and pipes. The
// package also receives and closes descriptors that containers send: see Receive and CloseReceived.
package dir

import (
	"errors"
	"os"
	"path/filepath"
)

var (
	// ErrDeleted means that a directory was deleted while it was held.
	ErrDeleted = errors.New("it was deleted")
	// ErrReplaced means that another file or directory has the name of the expected one.
	ErrReplaced = errors.New("it was replaced meanwhile")
)

// Dir is a directory of the host, held open.
type Dir struct {
	fd   int
	path string
}

// Open holds a directory that the host itself named. It checks that a command can start in it: it was not deleted, and
// may be entered. The Hold functions check neither.
func Open(path string) (*Dir, error) { return openHost(path) }

// Hold holds the directory to which path leads now, also through links. It needs no permission on the directory itself.
func Hold(path string) (*Dir, error) {
	fd, err := openRoot(path)
	return held(fd, path, err)
}

// Borrow returns a Dir for a descriptor that the caller closes.
func Borrow(fd int) *Dir { return &Dir{fd: fd} }

// HoldBelow holds the directory rest below d. It follows no symbolic link, but crosses mount points.
func (d *Dir) HoldBelow(rest string) (*Dir, error) {
	fd, err := openAcrossMounts(d.fd, rest)
	return held(fd, filepath.Join(d.path, rest), err)
}

// HoldInRoot holds the directory name below d, the root directory of a container. It resolves links as the container
// does.
func (d *Dir) HoldInRoot(name string) (*Dir, error) {
	fd, err := openInRoot(d.fd, name)
	return held(fd, filepath.Join(d.path, name), err)
}

// held returns the Dir of a descriptor that was just opened.
func held(fd int, path string, err error) (*Dir, error) {
	if err != nil {
		return nil, err
	}
	return &Dir{fd: fd, path: path}, nil
}

// OpenBelow holds the directory rest below d, and checks that a command can start in it. It follows no symbolic link,
// and crosses no mount point.
func (d *Dir) OpenBelow(rest string) (*Dir, error) { return openBelow(d.fd, rest) }

// File holds the entry name of d, of any kind except a link or another mount.
func (d *Dir) File(name string) (*File, error) {
	f, err := openFile(d.fd, name)
	if err == nil {
		f.path = filepath.Join(d.path, name)
	}
	return f, err
}

// AsFile returns d as a File. Close the File instead of d.
func (d *Dir) AsFile() *File {
	return &File{fd: d.fd, name: filepath.Base(d.path), path: d.path, mode: os.ModeDir}
}

// CheckCovered returns an error unless something is mounted over the entry name below d. It follows no link.
func (d *Dir) CheckCovered(name string) error { return covered(d.fd, name) }

// Has reports whether the entry name of d is the directory inner.
func (d *Dir) Has(name string, inner *Dir) bool { return isEntry(d.fd, name, inner.fd) }

// FD returns the descriptor, which d still owns. It can be used as /proc/self/fd/N and for openat(2), but not be read.
func (d *Dir) FD() int { return d.fd }

// Path returns the path of the directory when it was opened, for messages and PWD. It may lead elsewhere now.
func (d *Dir) Path() string { return d.path }

// Close closes the directory. A second call does nothing.
func (d *Dir) Close() error {
	fd := d.fd
	d.fd = -1
	return closeFD(fd)
}
