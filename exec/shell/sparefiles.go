// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// fileSet are the files for one command that are made before it is known. To make files is
// half of what a short command takes, so those of the next one are made while one runs, when
// nobody waits for them.
type fileSet struct {
	script   *os.File // what the shell reads
	out, err *os.File
}

// spareFiles holds what the next command will need.
type spareFiles struct {
	made   atomic.Uint64 // how many files
	next   atomic.Pointer[fileSet]
	script atomic.Pointer[os.File] // one that was read, to be written again
}

// take returns the files of a command.
func (d *spareFiles) take(dir string) (*fileSet, error) {
	if s := d.next.Swap(nil); s != nil {
		return s, nil
	}
	return d.newFileSet(dir)
}

// refill makes the files of the next command, if there are none. If it cannot, the next
// command says why.
func (d *spareFiles) refill(dir string) {
	if d.next.Load() != nil {
		return
	}
	if s, err := d.newFileSet(dir); err == nil && !d.next.CompareAndSwap(nil, s) {
		s.remove()
	}
}

// newFileSet makes some. What a command writes to is never used again: whom it left behind may
// still write to it.
func (d *spareFiles) newFileSet(dir string) (*fileSet, error) {
	s := &fileSet{script: d.script.Swap(nil)}
	for _, to := range []struct {
		file **os.File
		ext  string
	}{{&s.script, ".cmd"}, {&s.out, ".out"}, {&s.err, ".err"}} {
		if *to.file != nil {
			continue
		}
		name := filepath.Join(dir, strconv.FormatUint(d.made.Add(1), 10)+to.ext)
		var err error
		if *to.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			s.remove()
			return nil, fmt.Errorf("make the files of a command: %w", err)
		}
	}
	return s, nil
}

// putBack takes back the script of a command that has ended as it should.
func (d *spareFiles) putBack(s *fileSet) {
	if d.script.CompareAndSwap(nil, s.script) {
		s.script = nil
	}
}

// empty removes what is there.
func (d *spareFiles) empty() {
	s := &fileSet{script: d.script.Swap(nil)}
	s.remove()
	if s = d.next.Swap(nil); s != nil {
		s.remove()
	}
}

// remove closes and removes them.
func (s *fileSet) remove() {
	for _, file := range []*os.File{s.script, s.out, s.err} {
		if file != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}
}

// write makes text what the shell reads.
func (s *fileSet) write(text string) error {
	_, err := s.script.WriteAt([]byte(text), 0)
	if err == nil {
		err = s.script.Truncate(int64(len(text)))
	}
	return err
}
