// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a directory that can be entered. It opens no other kind of file.
func openDir(name string) (*os.File, error) { return openDirAt(unix.AT_FDCWD, name) }

// openDirNoLinks is openDir for a path without links.
func openDirNoLinks(name string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, name, &how)
	if err != nil {
		return nil, &os.PathError{Op: "enter", Path: name, Err: err}
	}
	defer unix.Close(fd)
	return openDirAt(fd, ".")
}

// openDirAt is openDir for a name below the directory at.
func openDirAt(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		if err = unix.Faccessat(fd, ".", unix.X_OK, 0); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return nil, &os.PathError{Op: "enter", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
