// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// create makes the file name below root, of that mode, in one step.
func create(root *os.Root, name string, mode fs.FileMode, write func(*os.File) error) error {
	making := filepath.Join(filepath.Dir(name), ".hostexec-"+rand.Text())
	tmp, err := root.OpenFile(making, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = root.Rename(making, name)
	}
	if err != nil {
		root.Remove(making)
	}
	return err
}

// link makes name another name of file, or a copy where the file system cannot. It is for
// names that no container has.
func link(file, name string) error {
	err := os.Link(file, name)
	// Linux finds no file where another process has just put an equal one in its place (link(2)).
	for tries := 0; tries < 100 && errors.Is(err, fs.ErrNotExist) && exists(file); tries++ {
		err = os.Link(file, name)
	}
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return duplicate(file, root, filepath.Base(name))
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// duplicate makes name below root a copy of file, which shares its blocks where the file
// system can (copy_file_range(2), which io.Copy uses).
func duplicate(file string, root *os.Root, name string) error {
	src, err := os.Open(file)
	if err != nil {
		return err
	}
	defer src.Close()
	return create(root, name, 0o755, func(dst *os.File) error {
		_, err := io.Copy(dst, src)
		return err
	})
}
