// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"fmt"
	"path"
	"strconv"
)

// Base is a directory of the host, held open, with untrusted directories below it. If another process replaces it, or a
// directory above it, the untrusted directories are still below the held one.
type Base struct {
	fd   int
	path string // as given to OpenBase, for messages
	real string // without links
}

// OpenBase holds the directory to which path leads now, also through links. The caller closes it.
func OpenBase(path string) (*Base, error) {
	fd, err := openRoot(path)
	if err != nil {
		return nil, fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(path), err)
	}
	b := &Base{fd: fd, path: path}
	if b.real, err = pathOf(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(path), err), b.Close())
	}
	return b, nil
}

// ReopenBase holds the directory for which another Base returned Real and Key. It follows no link.
func ReopenBase(real, key string) (*Base, error) {
	root, err := openRoot("/")
	if err != nil {
		return nil, err
	}
	defer closeFD(root)
	fd, err := openAcrossMounts(root, path.Join(".", real))
	if err != nil {
		return nil, fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(real), err)
	}
	b := &Base{fd: fd, path: real, real: real}
	if is, err := b.Key(); err != nil || is != key {
		return nil, errors.Join(fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(real), ErrReplaced), err, b.Close())
	}
	return b, nil
}

// Real returns the path of the directory when it was opened, without links.
func (b *Base) Real() string { return b.real }

// Key identifies the directory on this host, whatever its name.
func (b *Base) Key() (string, error) { return dirKey(b.fd) }

// InPlace reports whether the directory still has the path that it had when it was opened. It reports true if
// that is unknown. It asks the kernel, and follows no link.
func (b *Base) InPlace() bool {
	now, err := pathOf(b.fd)
	return err != nil || now == b.real
}

// Make holds the directory at the relative path rest below b, and makes missing directories of that path. Existing ones
// keep their modes, which UntrustedDir.Steps returns. No link is followed. The caller closes the UntrustedDir.
func (b *Base) Make(rest string, access Access) (*UntrustedDir, error) {
	rest = path.Clean(rest)
	fd, steps, err := makeBelow(b, rest, access)
	if err != nil {
		return nil, fmt.Errorf("make directory %s: %w", strconv.QuoteToASCII(path.Join(b.path, rest)), err)
	}
	return b.untrustedDir(fd, rest, steps)
}

// Open is like Make, but makes no directory.
func (b *Base) Open(rest string) (*UntrustedDir, error) {
	rest = path.Clean(rest)
	fd, err := openAcrossMounts(b.fd, rest)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", strconv.QuoteToASCII(path.Join(b.path, rest)), err)
	}
	return b.untrustedDir(fd, rest, nil)
}

// untrustedDir returns the UntrustedDir of the directory fd. It has its own descriptor of the base, so that b may be
// closed first.
func (b *Base) untrustedDir(fd int, rest string, steps []Step) (*UntrustedDir, error) {
	own, err := openAcrossMounts(b.fd, ".")
	if err != nil {
		return nil, errors.Join(err, closeFD(fd))
	}
	base := &Base{fd: own, path: b.path, real: b.real}
	return &UntrustedDir{fd: fd, base: base, rest: rest, path: path.Join(b.path, rest), steps: steps}, nil
}

// Close closes the directory. A second call does nothing.
func (b *Base) Close() error {
	fd := b.fd
	b.fd = -1
	return closeFD(fd)
}
