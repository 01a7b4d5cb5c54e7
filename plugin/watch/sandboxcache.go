// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"io"
	"io/fs"
	"os"
)

// copyTree copies the directories and regular files of from into to. It leaves out links and files that cannot
// be read.
func copyTree(to *os.Root, from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil, name == ".":
			return nil
		case d.IsDir():
			return to.Mkdir(name, 0o700)
		case d.Type().IsRegular():
			return copyFile(to, from, name)
		}
		return nil
	})
}

func copyFile(to *os.Root, from fs.FS, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return nil
	}
	defer in.Close()
	mode := fs.FileMode(0o600)
	if fi, err := in.Stat(); err == nil {
		mode = fi.Mode().Perm()
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
