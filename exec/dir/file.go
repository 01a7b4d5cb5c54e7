// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// File is a file of the host below a container's mount, held but not opened. Whoever holds
// it has asked no driver and followed no link.
type File struct {
	fd   int
	name string
	path string
	mode os.FileMode
}

// Name returns the last element of its path.
func (f *File) Name() string { return f.name }

// Path returns what the host calls it: a name that can come to mean another file.
func (f *File) Path() string { return f.path }

// IsDir reports whether it is a directory.
func (f *File) IsDir() bool { return f.mode.IsDir() }

// Regular reports whether it is a regular file.
func (f *File) Regular() bool { return f.mode.IsRegular() }

// Open opens a regular file for reading; the caller closes it.
func (f *File) Open() (*os.File, error) {
	if !f.Regular() {
		return nil, fmt.Errorf("open %s: not a regular file", strconv.QuoteToASCII(f.name))
	}
	return reopenFile(f.fd, os.O_RDONLY)
}

// OpenPlain opens the plain file path, which lies in a directory that a container may write,
// for reading. A link in its place is not followed, no driver is asked by opening a device,
// and a pipe keeps nobody waiting.
func OpenPlain(path string) (*os.File, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

var errNotPlain = errors.New("not a plain file")

// Close lets the file go. A second call does nothing.
func (f *File) Close() error {
	fd := f.fd
	f.fd = -1
	return closeFD(fd)
}

// File holds what the container calls p, an absolute path, if it is below a bind mount, or the
// directory that is mounted, and no link is on the way.
func (t *Table) File(p string) (*File, error) {
	p = path.Clean(p)
	m, _ := t.at(p)
	if m != nil && m != t.fallback && m.bind && m.target == p {
		d, err := t.Open(p)
		if err != nil {
			return nil, err
		}
		return &File{fd: d.fd, name: path.Base(d.path), path: d.path, mode: fs.ModeDir}, nil
	}
	d, err := t.Open(path.Dir(p))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	switch {
	case t.fallback != nil:
		return nil, fmt.Errorf("%w: %s is not below a bind mount: there is none", ErrMismatch, strconv.QuoteToASCII(p))
	case m == nil || m.target == p:
		return nil, fmt.Errorf("%w: %s is a mount itself", ErrMismatch, strconv.QuoteToASCII(p))
	}
	f, err := openFile(d.fd, path.Base(p))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", strconv.QuoteToASCII(p), err)
	}
	f.path = filepath.Join(d.Path(), path.Base(p))
	return f, nil
}

// at is find under the lock.
func (t *Table) at(p string) (*mount, string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.find(p)
}
