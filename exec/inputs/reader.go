// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// reader reads the inputs of one command, each once.
type reader struct {
	Command
	files []File
	left  int64 // bytes that may still be read
}

// Copy is a copy of an operand that the host made, and that the container cannot reach.
type Copy struct {
	Name string // the operand as the caller wrote it
	Path string // of the copy
}

// operand reads the file that argument i names: the host's copy, if there is one.
func (r *reader) operand(i int) (*File, error) {
	c, ok := r.Copies[i]
	if !ok {
		return r.need(r.Args[i])
	}
	if !printable(c.Name) {
		return nil, errors.New("the name of an operand is not printable")
	}
	if slices.ContainsFunc(r.files, func(f File) bool { return f.Path == c.Name }) {
		return nil, fmt.Errorf("%s is named twice", c.Name)
	}
	f, err := dir.OpenPlain(c.Path)
	if err != nil {
		return nil, err
	}
	r.copied = true
	return r.keep(c.Name, f)
}

// need reads the file name, which has to exist.
func (r *reader) need(name string) (*File, error) {
	f, err := r.add(name)
	if err == nil && f.Absent {
		err = fmt.Errorf("there is no %s", f.Path)
	}
	return f, err
}

// add reads the file name below the directory of the call. It may be absent.
func (r *reader) add(name string) (*File, error) {
	if err := local(name); err != nil {
		return nil, err
	}
	name = path.Clean(name)
	if i := slices.IndexFunc(r.files, func(f File) bool { return f.Path == name }); i >= 0 {
		return &r.files[i], nil
	}
	f, err := r.open(name)
	switch {
	case absent(err):
		return r.append(File{Path: name, Absent: true})
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r.keep(name, f)
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// local refuses a name that may lead out of the directory of the call.
func local(name string) error {
	switch {
	case !printable(name):
		return fmt.Errorf("the name %s is not printable", strconv.QuoteToASCII(name))
	case path.IsAbs(name), slices.Contains(strings.Split(name, "/"), ".."): // after a link, .. leads elsewhere
		return fmt.Errorf("%s is not below the directory of the call", name)
	}
	return nil
}

// open opens the regular file name, through no link, and without waiting for a pipe.
func (r *reader) open(name string) (*os.File, error) {
	d, base := r.Dir, path.Base(name)
	if at := path.Dir(name); at != "." {
		inner, err := r.Dir.OpenBelow(at)
		if err != nil {
			return nil, err
		}
		defer inner.Close()
		d = inner
	}
	f, err := d.File(base)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !f.Regular() {
		return nil, errors.New("it is not a regular file")
	}
	return f.Open()
}

// keep reads and closes f.
func (r *reader) keep(name string, f *os.File) (*File, error) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, r.left+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.left -= int64(len(b)); r.left < 0 {
		return nil, errBytes
	}
	return r.append(File{Path: name, Size: int64(len(b)), SHA256: sum(b), Content: b})
}

func (r *reader) append(f File) (*File, error) {
	if len(r.files) == maxFiles {
		return nil, errFiles
	}
	r.files = append(r.files, f)
	return &r.files[len(r.files)-1], nil
}
