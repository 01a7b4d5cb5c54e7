// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// File is a file of the host that a container can change. It is held by an O_PATH descriptor, which calls no driver and
// follows no link.
type File struct {
	fd   int
	name string
	path string
	mode os.FileMode
}

// Name returns the last element of the path.
func (f *File) Name() string { return f.name }

// Path returns the path on the host, which may lead to another file later.
func (f *File) Path() string { return f.path }

// IsDir reports whether the file is a directory.
func (f *File) IsDir() bool { return f.mode.IsDir() }

// Regular reports whether the file is a regular file.
func (f *File) Regular() bool { return f.mode.IsRegular() }

// Open opens a regular file for reading; the caller closes it.
func (f *File) Open() (*os.File, error) {
	if !f.Regular() {
		return nil, fmt.Errorf("open %s: not a regular file", strconv.QuoteToASCII(f.name))
	}
	return reopenFile(f.fd, os.O_RDONLY)
}

// OpenPlain opens the regular file at path for reading, in a directory that others may write. If the file is a link, a
// device or a pipe, it returns an error instead of following it or waiting.
func OpenPlain(path string) (*os.File, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// OpenRegular opens the file at path, or the one that links there lead to, for reading. If it is a device, a pipe or a
// socket, OpenRegular returns an error instead of calling a driver or waiting.
func OpenRegular(path string) (*os.File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

var errNotPlain = errors.New("not a regular file")

// maxPlain is larger than any file that ReadPlain reads, in bytes.
const maxPlain = 16 << 20

// ReadPlain returns the content of a file that OpenPlain opens.
func ReadPlain(path string) ([]byte, error) {
	f, err := OpenPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPlain+1))
	if err == nil && len(text) > maxPlain {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d MiB", maxPlain>>20)}
	}
	return text, err
}

// Close closes the file. A second call does nothing.
func (f *File) Close() error {
	fd := f.fd
	f.fd = -1
	return closeFD(fd)
}
