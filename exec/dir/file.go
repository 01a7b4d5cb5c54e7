// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
