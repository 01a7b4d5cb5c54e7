// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// incompleteLineEnd ends an incomplete line. A writer leaves one if it is killed during a write, or if the disk
// is full. The next writer ends it, so that the incomplete record stays on a line of its own.
const incompleteLineEnd = " [torn]\n"

// file is one log file to which any number of processes append. Each append holds a lock of the
// file (flock(2)). So a writer detects an incomplete line before it appends, and no process writes
// to a file that another process has just rotated.
type file struct {
	path string
	max  int64
	keep int
	sync bool

	f    *os.File // nil if it must be opened
	info fs.FileInfo
	end  int64 // the end of the last line that this process wrote
}

func newFile(path string, opts Options) *file {
	return &file{path: path, max: opts.Rotate, keep: opts.Keep, sync: opts.Sync != SyncNever}
}

// open opens the file if it is not open.
func (f *file) open() error {
	if f.f != nil {
		return nil
	}
	opened, err := openLog(f.path)
	if errors.Is(err, fs.ErrNotExist) { // the directory of the per-container copies is missing
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
		err = checkPermissions(info)
	}
	if err == nil && f.sync {
		err = syncDir(filepath.Dir(f.path)) // the directory entry must be on disk too
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

// checkPermissions returns an error unless info describes a regular file that only this user can write.
func checkPermissions(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case info.Mode().Perm()&0o022 != 0:
		return errors.New("other users can write it: chmod 600")
	}
	return owned(info)
}

// close closes the file, which releases its lock.
func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

var errMoving = errors.New("it is replaced faster than it can be opened")

// append appends line with one write.
func (f *file) append(line []byte) error {
	for range 1000 { // each retry follows a rotation by another process
		if err := f.open(); err != nil {
			return err
		}
		done, err := f.attempt(line)
		if done {
			return unlock(f.f)
		}
		if err = errors.Join(err, f.close()); err != nil {
			return err
		}
	}
	return errMoving
}

// attempt locks the open file and appends line to it. It reports false if path is now another file,
// or if the file was full and has been rotated.
func (f *file) attempt(line []byte) (done bool, err error) {
	if err := lock(f.f); err != nil {
		return false, err
	}
	now, err := os.Lstat(f.path)
	if err != nil || !os.SameFile(now, f.info) {
		return false, ignoreMissing(err)
	}
	if err := checkPermissions(now); err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	size, err := f.endIncompleteLine(now.Size())
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

// endIncompleteLine ends an incomplete line at the end of the file, and returns the new size. The caller holds
// the lock, so size cannot change meanwhile.
func (f *file) endIncompleteLine(size int64) (int64, error) {
	if size == 0 || size == f.end {
		return size, nil
	}
	var last [1]byte
	if _, err := f.f.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	n, err := f.f.WriteString(incompleteLineEnd)
	return size + int64(n), err
}
