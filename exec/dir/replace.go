// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace replaces a file atomically, in a directory that only the host writes. Unlike moby/sys/atomicwriter, it does
// not wait for the disk, because a container waits for these files at its start. After a power failure, they are
// useless, or found damaged and written again.
func Replace(path string, text []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".hostexec-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// RemoveFile removes a file. It returns nil if there is none, because another process may have removed it.
func RemoveFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
