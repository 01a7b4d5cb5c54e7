// SPDX-License-Identifier: Apache-2.0

package call

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

const (
	// maxCopy is how large an operand may be of which a copy runs.
	maxCopy = 64 << 20
	// maxCopies is how much the copies of all calls of a session may be at a time: a container
	// could fill the host's disk with them.
	maxCopies = 4 * maxCopy
)

// operands looks at the arguments that have to be files or directories of the container's
// mounts. One that would name another file on the host becomes what the host calls the file
// that was looked at. Where a rule wants a snapshot the argument becomes the path of a copy,
// which the container cannot reach: it is what is shown and what runs.
func (w *warrant) operands(req *request) error {
	if len(w.v.Paths) == 0 {
		return nil
	}
	w.v.Args = slices.Clone(w.v.Args)
	for _, check := range w.v.Paths {
		arg := w.v.Args[check.Index]
		shown := strconv.QuoteToASCII(arg)
		f, err := w.sc.operand(req.Cwd, arg, check.Type)
		if err != nil {
			return fmt.Errorf("argument %d: %s: %w", check.Index, shown, err)
		}
		if !w.v.Place.Contained() { // a container has it where the caller has it
			w.v.Args[check.Index] = onHost(w.cwd.Path(), arg, f.Path())
		}
		if check.Snapshot {
			var sum string
			if w.v.Args[check.Index], sum, err = w.snapshot(req.ID, check.Index, f); err == nil {
				w.notes = append(w.notes, fmt.Sprintf("argument %d is a copy of %s, sha256 %s", check.Index, shown, sum))
			}
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("copy argument %d: %s: %w", check.Index, shown, err)
		}
	}
	return nil
}

// onHost is arg if a program in cwd finds by it the host's file file, and file otherwise: the
// container may see it at another place.
func onHost(cwd, arg, file string) string {
	at := arg
	if !filepath.IsAbs(at) {
		at = filepath.Join(cwd, arg)
	}
	if filepath.Clean(at) == file {
		return arg
	}
	return file
}

// operand finds the file that arg names for a caller in cwd.
func (sc *Scene) operand(cwd, arg string, typ policy.FileType) (*dir.File, error) {
	if slices.Contains(strings.Split(arg, "/"), "..") {
		return nil, errors.New(`".." is on the way`) // which through a link leads elsewhere than it looks
	}
	at := arg
	if !path.IsAbs(at) {
		at = path.Join(cwd, arg)
	}
	f, err := sc.Dirs.File(at)
	if err != nil {
		return nil, err
	}
	switch {
	case typ == policy.TypeDir && !f.IsDir():
		err = errors.New("not a directory")
	case typ == policy.TypeFile && !f.Regular(), !f.IsDir() && !f.Regular():
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// copies is the directory that holds the copies of one request, and how many bytes of its
// session's it has.
type copies struct {
	dir     string
	size    int64
	session *atomic.Int64
}

func (c *copies) remove() {
	if c != nil {
		os.RemoveAll(c.dir) // nobody but us writes there
		c.session.Add(-c.size)
	}
}

// reserve takes n bytes of what the session's copies may be.
func (c *copies) reserve(n int64) error {
	if n > maxCopy {
		return fmt.Errorf("it has more than %d bytes", maxCopy)
	}
	c.size += n
	if c.session.Add(n) > maxCopies {
		return fmt.Errorf("the copies of this session would have more than %d bytes", maxCopies)
	}
	return nil
}

// snapshot copies f and returns the copy's path and SHA-256.
func (w *warrant) snapshot(request string, index int, f *dir.File) (name, sum string, err error) {
	if w.copies == nil {
		at := filepath.Join(w.sc.Scratch, request)
		if err := os.MkdirAll(at, 0o700); err != nil {
			return "", "", err
		}
		w.copies = &copies{dir: at, session: w.copied}
	}
	src, err := f.Open()
	if err != nil {
		return "", "", err
	}
	defer src.Close()
	fi, err := src.Stat()
	if err != nil {
		return "", "", err
	}
	if err := w.copies.reserve(fi.Size()); err != nil {
		return "", "", err
	}
	name = filepath.Join(w.copies.dir, strconv.Itoa(index)+filepath.Ext(f.Name()))
	sum, err = copyTo(name, src, fi.Size())
	return name, sum, err
}

// copyTo makes the file name of what src has, at most n bytes, and returns its SHA-256.
func copyTo(name string, src io.Reader, n int64) (sum string, err error) {
	dst, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	defer dst.Close()
	h := sha256.New()
	copied, err := io.Copy(io.MultiWriter(dst, h), io.LimitReader(src, n+1))
	if err == nil && copied > n {
		err = errors.New("it grows")
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, dst.Close())
}
