// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker/go-units"
)

// maxCacheFiles is the number of files and directories in the largest cache that is copied.
const maxCacheFiles = 100_000

// copyOnce copies the directory called from to rest in root, unless something is there already. It copies nothing if
// the directory has more than space bytes. A copy gets its name when it is complete.
func copyOnce(root *os.Root, rest, from string, space int64) error {
	if _, err := root.Lstat(rest); err == nil {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(rest), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
		return root.Mkdir(rest, 0o700)
	}
	if err := checkCache(os.DirFS(from), space); err != nil {
		return err
	}
	part := rest + ".hostexec"
	if err := errors.Join(root.RemoveAll(part), root.Mkdir(part, 0o700)); err != nil {
		return err
	}
	to, err := root.OpenRoot(part)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := copyTree(to, os.DirFS(from)); err != nil {
		return errors.Join(err, root.RemoveAll(part))
	}
	return root.Rename(part, rest)
}

// checkCache returns an error if the files of a cache have more than space bytes. The call waits for the copy.
func checkCache(from fs.FS, space int64) error {
	files, bytes := 0, int64(0)
	return fs.WalkDir(from, ".", func(_ string, d fs.DirEntry, err error) error {
		files++
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				bytes += fi.Size()
			}
		}
		if bytes > space || files > maxCacheFiles {
			return fmt.Errorf("it has more than %s (limits.spool) or %d files: leave it out of cache, and the sandbox fills its own",
				units.BytesSize(float64(space)), maxCacheFiles)
		}
		return nil
	})
}

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
