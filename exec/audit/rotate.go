// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rotate renames the locked file: audit.log becomes audit.log.1, audit.log.1 becomes audit.log.2,
// and so on. It renames audit.log last, so that no other process starts a rotation meanwhile.
func (f *file) rotate() error {
	if f.sync {
		if err := f.f.Sync(); err != nil {
			return err
		}
	}
	full, err := rotated(f.path)
	if err != nil {
		return err
	}
	for _, n := range full { // oldest first
		old := rotatedName(f.path, n)
		if f.keep > 0 && n >= f.keep {
			err = os.Remove(old)
		} else {
			err = os.Rename(old, rotatedName(f.path, n+1))
		}
		if err != nil {
			return fmt.Errorf("rotate: %w", err)
		}
	}
	if err := os.Rename(f.path, rotatedName(f.path, 1)); err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	return nil
}

func rotatedName(path string, n int) string { return path + "." + strconv.Itoa(n) }

// rotated returns the numbers of the rotated files, oldest first.
func rotated(path string) (full []int, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		n, err := strconv.Atoi(suffix)
		if ok && err == nil && n > 0 && strconv.Itoa(n) == suffix {
			full = append(full, n)
		}
	}
	slices.SortFunc(full, func(a, b int) int { return cmp.Compare(b, a) })
	return full, nil
}

// source is one file to read, up to the size that it had when it was opened: the end of a line, unless a writer was
// killed. With Reader.Follow, the newest file has no limit.
type source struct {
	name string
	f    *os.File
	left int64 // bytes still to read
}

func closeAll(all []source) (err error) {
	for _, s := range all {
		err = errors.Join(err, s.f.Close())
	}
	return err
}

// snapshot opens the files of the log at path, oldest first. The files and sizes are from one
// moment without writers.
func snapshot(path string) (all []source, err error) {
	for range 100 {
		all, err = attemptSnapshot(path)
		if !errors.Is(err, errMoving) {
			return all, err
		}
		time.Sleep(time.Millisecond) // another process is rotating
	}
	if _, serr := os.Lstat(path); errors.Is(serr, fs.ErrNotExist) {
		return openRotated(path) // or a process was killed during a rotation
	}
	return nil, err
}

// attemptSnapshot fails with errMoving if a file is rotated meanwhile.
func attemptSnapshot(path string) ([]source, error) {
	current, err := openSource(path)
	if errors.Is(err, fs.ErrNotExist) {
		if full, _ := rotated(path); len(full) > 0 {
			err = errMoving
		}
	}
	if err != nil {
		return nil, err
	}
	if err := lockShared(current.f); err != nil {
		return nil, errors.Join(err, current.f.Close())
	}
	defer unlock(current.f) // fails only where lockShared fails
	if now, err := os.Stat(path); err != nil || !sameAs(current.f, now) {
		return nil, errors.Join(errMoving, current.f.Close())
	}
	all, err := openRotated(path)
	if err == nil {
		err = current.measure()
	}
	if err != nil {
		return nil, errors.Join(err, current.f.Close(), closeAll(all))
	}
	return append(all, current), nil
}

// openRotated opens the rotated files, oldest first.
func openRotated(path string) (all []source, err error) {
	full, err := rotated(path)
	for _, n := range full {
		if err == nil {
			var s source
			if s, err = openSource(rotatedName(path, n)); err == nil {
				all = append(all, s)
				err = all[len(all)-1].measure()
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(all))
	}
	return all, nil
}

func openSource(path string) (source, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	return source{name: path, f: f}, err
}

// measure sets the number of bytes to read.
func (s *source) measure() error {
	info, err := s.f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", s.name)
	}
	if err != nil {
		return err
	}
	s.left = info.Size()
	return nil
}

func sameAs(f *os.File, other fs.FileInfo) bool {
	info, err := f.Stat()
	return err == nil && os.SameFile(info, other)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
