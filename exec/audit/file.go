// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// torn ends half a line, which a writer left that was killed in its write or that found
// the disk full. Whoever writes next puts it there: the half stays alone on its line.
const torn = " [torn]\n"

// file is one log file that any number of processes append to. Each append is under a
// lock of the file (flock(2)), so that half a line is seen before anything is joined to
// it, and no file is written to that another process has just put aside.
type file struct {
	path string
	max  int64
	keep int
	sync bool

	f    *os.File // nil when it has to be opened
	info fs.FileInfo
	end  int64 // where our last line ended
}

func newFile(path string, opts Options) *file {
	return &file{path: path, max: opts.Rotate, keep: opts.Keep, sync: opts.Sync != SyncNever}
}

// open opens the file unless it is open.
func (f *file) open() error {
	if f.f != nil {
		return nil
	}
	opened, err := openLog(f.path)
	if errors.Is(err, fs.ErrNotExist) { // of a container's copy, the directory
		if err := os.Mkdir(filepath.Dir(f.path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		opened, err = openLog(f.path)
	}
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err == nil {
		err = private(info)
	}
	if err == nil && f.sync {
		err = syncDir(filepath.Dir(f.path)) // the name has to last as well
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", f.path, err), opened.Close())
	}
	f.f, f.info, f.end = opened, info, 0
	return nil
}

func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|noFollow, 0o600)
}

// private refuses what is not a file of ours alone to write.
func private(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("not a file")
	case info.Mode().Perm()&0o022 != 0:
		return errors.New("others may write it: chmod 600")
	}
	return owned(info)
}

// close closes the file, and so gives up its lock.
func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

var errMoving = errors.New("it is replaced faster than it can be opened")

// append adds line by one write.
func (f *file) append(line []byte) error {
	for range 1000 { // each time, another process has begun a new file
		if err := f.open(); err != nil {
			return err
		}
		done, err := f.attempt(line)
		if done {
			return unlock(f.f)
		}
		if err = errors.Join(err, f.close()); err != nil { // which gives the lock up as well
			return err
		}
	}
	return errMoving
}

// attempt locks the open file and appends line to it, if that is still the one at path,
// and there is room in it.
func (f *file) attempt(line []byte) (done bool, err error) {
	if err := lock(f.f); err != nil {
		return false, err
	}
	now, err := os.Lstat(f.path)
	if err != nil || !os.SameFile(now, f.info) {
		return false, ignoreMissing(err)
	}
	if err := private(now); err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	size, err := f.mend(now.Size())
	if err != nil {
		return false, err
	}
	if f.max > 0 && size > 0 && size+int64(len(line)) > f.max {
		return false, f.rotate()
	}
	n, err := f.f.Write(line)
	f.end = size + int64(n)
	return err == nil, err
}

// mend ends half a line at the end of the file, whose size is known and, being locked,
// stays, and returns the size that it has then.
func (f *file) mend(size int64) (int64, error) {
	if size == 0 || size == f.end {
		return size, nil
	}
	var last [1]byte
	if _, err := f.f.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	n, err := f.f.WriteString(torn)
	return size + int64(n), err
}
