// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// maxFile is the maximum size of a configuration file, in bytes.
const maxFile = 256 << 10

// readFile reads a file that belongs to the host. It returns nil if there is none.
func readFile(path string) ([]byte, stamp, error) {
	open := func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|noBlock, 0) }
	return readWith(path, open, func(fi fs.FileInfo) error { return checkOwner(path, fi) })
}

// readForeign reads a file in a directory that a container may write. It follows no links, opens regular
// files only, and reads once.
func readForeign(path string) ([]byte, stamp, error) {
	return readWith(path, dir.OpenPlain, func(fs.FileInfo) error { return nil })
}

func readWith(path string, open func(string) (*os.File, error), check func(fs.FileInfo) error) ([]byte, stamp, error) {
	st := stamp{path: path}
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil { // a dangling link must not hide rules that deny
			return nil, st, errors.New("a dangling link")
		}
		return nil, st, nil
	}
	if err != nil {
		st.info, _ = os.Stat(path) // so that the file is not stale until it changes
		st.unread = errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		return nil, st, withoutPath(err)
	}
	defer f.Close()
	if st.info, err = f.Stat(); err != nil {
		return nil, st, withoutPath(err)
	}
	st.fresh = recentlyModified(st.info)
	switch {
	case !st.info.Mode().IsRegular():
		return nil, st, errors.New("not a plain file")
	case st.info.Size() > maxFile:
		return nil, st, fmt.Errorf("%d bytes, at most %d are allowed", st.info.Size(), maxFile)
	}
	if err := check(st.info); err != nil {
		return nil, st, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	return append([]byte{}, text...), st, err
}

// withoutPath returns err without the path, which the message already contains.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// recentlyModified reports whether a file changed less than a second ago. Another change could then keep the same
// time stamp. A time in the future counts as well if it is less than a second away.
func recentlyModified(info fs.FileInfo) bool { return time.Since(info.ModTime()).Abs() < time.Second }

// stamp holds the metadata of a file at the time it was read.
type stamp struct {
	path  string
	info  fs.FileInfo // nil: there was no file
	fresh bool        // changed just before it was read
	// unread means that no descriptor was left to read it, or to find out that there is none.
	unread bool

	foreign bool // a container may have made it: links are not followed
}

func (s stamp) stale() bool {
	look := os.Stat
	if s.foreign {
		look = os.Lstat
	}
	now, err := look(s.path)
	switch {
	case s.unread:
		return true
	case err != nil:
		return s.info != nil
	case s.info == nil || s.fresh:
		return true
	}
	return !os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) || now.Mode() != s.info.Mode()
}
