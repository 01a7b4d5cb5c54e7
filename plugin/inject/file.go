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

// create creates the file name below root atomically, with the given mode.
func create(root *os.Root, name string, mode fs.FileMode, write func(*os.File) error) error {
	temporary := filepath.Join(filepath.Dir(name), ".hostexec-"+rand.Text())
	tmp, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		root.Remove(temporary)
	}
	return err
}

// link creates name as a hard link to file, or as a copy if the file system has no links. It is for names
// outside of containers.
func link(file, name string) error {
	err := os.Link(file, name)
	// Linux may return ENOENT while another process replaces the file by an equal one (link(2)).
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

// duplicate copies file to name below root. The copy shares blocks if the file system can
// (copy_file_range(2), which io.Copy uses).
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
