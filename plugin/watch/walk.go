// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// MaxDepth is the depth of the directories that Walk reads. It holds a descriptor of each directory on the way.
const MaxDepth = 256

// ErrTooDeep means that Walk has left out a directory, because it is nested too deep.
var ErrTooDeep = errors.New("directories are nested too deep")

// Found is a file or directory that Walk visits.
type Found struct {
	Parent *os.Root    // the directory that has the entry; valid only during visit
	Name   string      // in Parent; any bytes
	Path   string      // relative to the directory where Walk began, which is "."
	Depth  int         // 1 for the entries of the directory where Walk began
	Info   fs.FileInfo // not of the target, for a link; nil if it cannot be read
}

// Walk calls visit for everything below root, directories before their entries. If something cannot be read, visit gets
// the error, and Walk continues. If visit returns an error, Walk ends and returns it.
//
// Unlike fs.WalkDir, Walk also descends into directories whose names are not UTF-8. It looks up each name in the
// descriptor of its directory: with paths, the cost of a nested tree would grow with the square of its depth.
func Walk(root *os.Root, visit func(e Found, err error) error) error {
	return walkDir(root, Found{Path: "."}, visit)
}

// walkDir visits what is below d, which is the entry at.
func walkDir(d *os.Root, at Found, visit func(e Found, err error) error) error {
	if at.Depth > MaxDepth {
		return visit(at, ErrTooDeep)
	}
	dirs, err := visitEntries(d, at, visit)
	if err != nil {
		return err
	}
	for _, e := range dirs {
		sub, err := OpenDir(d, e.Name)
		if err != nil {
			err = visit(e, err)
		} else {
			err = walkDir(sub, e, visit)
			sub.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenDir opens the directory name of d. If it is another file by now, such as a named pipe, OpenDir returns an error. It
// must not open that, because it could wait for ever. So the name is not the last part of the path: only there, OpenRoot
// opens any file.
func OpenDir(d *os.Root, name string) (*os.Root, error) { return d.OpenRoot(name + "/.") }

// visitEntries visits the entries of d, which is the entry at. It returns the directories.
func visitEntries(d *os.Root, at Found, visit func(e Found, err error) error) (dirs []Found, err error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, visit(at, err)
	}
	defer f.Close()
	for {
		names, rerr := f.Readdirnames(1024) // not all: visit may end the walk of a large directory
		for _, name := range names {
			e := Found{Parent: d, Name: name, Path: name, Depth: at.Depth + 1}
			if at.Depth > 0 {
				e.Path = at.Path + "/" + name
			}
			var ierr error
			if e.Info, ierr = d.Lstat(name); errors.Is(ierr, fs.ErrNotExist) {
				continue // removed meanwhile
			}
			if err := visit(e, ierr); err != nil {
				return nil, err
			}
			if ierr == nil && e.Info.IsDir() {
				dirs = append(dirs, e)
			}
		}
		if rerr == io.EOF {
			return dirs, nil
		}
		if rerr != nil {
			return dirs, visit(at, rerr)
		}
	}
}
