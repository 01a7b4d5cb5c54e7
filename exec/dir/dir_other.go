// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package dir

import (
	"errors"
	"os"
	"runtime"
)

var errSystem = errors.New("holding directories is not supported on " + runtime.GOOS)

func openPlain(path string) (*os.File, error) { return openChecked(path, os.Lstat) }

func openRegular(path string) (*os.File, error) { return openChecked(path, os.Stat) }

// openChecked checks the file before it opens it, and after: there is no way to do both at once.
func openChecked(path string, stat func(string) (os.FileInfo, error)) (*os.File, error) {
	before, err := stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !before.Mode().IsRegular() {
		return nil, errNotPlain
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, errNotPlain
	}
	return f, nil
}

func openRoot(string) (int, error)              { return -1, errSystem }
func openHost(string) (*Dir, error)             { return nil, errSystem }
func openBelow(int, string) (*Dir, error)       { return nil, errSystem }
func openFile(int, string) (*File, error)       { return nil, errSystem }
func openAcrossMounts(int, string) (int, error) { return -1, errSystem }
func openInRoot(int, string) (int, error)       { return -1, errSystem }
func covered(int, string) error                 { return errSystem }
func closeFD(int) error                         { return nil }
func reopenFile(int, int) (*os.File, error)     { return nil, errSystem }
func isEntry(int, string, int) bool             { return false }
func cloexecAll() error                         { return errSystem }

// Same reports whether two descriptors refer to one file.
func Same(int, int) bool { return false }
