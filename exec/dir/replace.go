// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace replaces a file in a directory of the host's own: a reader sees the old text or the new one. It does not wait
// for the disk, as moby/sys/atomicwriter does. What it writes is worth nothing after a power failure, or is found
// damaged and written anew, and a container waits for it at its start.
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
