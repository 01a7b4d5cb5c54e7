// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"path"
	"strconv"
)

// Base is a directory of the host, held open, below which there are boxes. Whoever can replace
// it, or what is above it, replaces a name only: boxes stay below the directory that is held.
type Base struct {
	fd   int
	path string // as it was asked for, for people
	real string // the same without links
}

// OpenBase holds the directory that path leads to now, through links too. The caller closes it.
func OpenBase(path string) (*Base, error) {
	fd, err := openRoot(path)
	if err != nil {
		return nil, fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(path), err)
	}
	b := &Base{fd: fd, path: path}
	if b.real, err = realOf(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(path), err), b.Close())
	}
	return b, nil
}

// ReopenBase holds the directory of which another Base said Real and Key. It follows no link.
func ReopenBase(real, key string) (*Base, error) {
	root, err := openRoot("/")
	if err != nil {
		return nil, err
	}
	defer closeFD(root)
	fd, err := openSource(root, path.Join(".", real))
	if err != nil {
		return nil, fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(real), err)
	}
	b := &Base{fd: fd, path: real, real: real}
	if is, err := b.Key(); err != nil || is != key {
		return nil, errors.Join(fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(real), errReplaced), err, b.Close())
	}
	return b, nil
}

// Real returns the path of the directory when it was opened, without links.
func (b *Base) Real() string { return b.real }

// Key tells the directory from all others of this host, whatever it is called.
func (b *Base) Key() (string, error) { return sharedKey(b.fd) }

// Named reports whether the directory is still where it was when it was opened. The kernel knows
// without walking there: no link is followed.
func (b *Base) Named() bool {
	now, err := realOf(b.fd)
	return err != nil || now == b.real
}

// Make holds the directory rest, and makes what is missing of it. What exists keeps its mode:
// Box.Steps tells which. No link is followed. The caller closes the box.
func (b *Base) Make(rest string, access Access) (*SharedDir, error) {
	rest = path.Clean(rest)
	fd, steps, err := makeBelow(b, rest, access)
	if err != nil {
		return nil, fmt.Errorf("make directory %s: %w", strconv.QuoteToASCII(path.Join(b.path, rest)), err)
	}
	return b.sharedDir(fd, rest, steps)
}

// Open is Make for a directory that is there: it makes none.
func (b *Base) Open(rest string) (*SharedDir, error) {
	rest = path.Clean(rest)
	fd, err := openSource(b.fd, rest)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", strconv.QuoteToASCII(path.Join(b.path, rest)), err)
	}
	return b.sharedDir(fd, rest, nil)
}

// sharedDir returns the box of the directory fd, which holds the base itself: b may be closed before it.
func (b *Base) sharedDir(fd int, rest string, steps []Step) (*SharedDir, error) {
	own, err := openSource(b.fd, ".")
	if err != nil {
		return nil, errors.Join(err, closeFD(fd))
	}
	base := &Base{fd: own, path: b.path, real: b.real}
	return &SharedDir{fd: fd, base: base, rest: rest, path: path.Join(b.path, rest), steps: steps}, nil
}

// Close lets the directory go. A second call does nothing.
func (b *Base) Close() error {
	fd := b.fd
	b.fd = -1
	return closeFD(fd)
}
