// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// fileSet holds the files for one command, created in advance. Creating files takes half the time of a short
// command, so the files of the next command are created while one runs.
type fileSet struct {
	script   *os.File // the script that the shell reads
	out, err *outputPipe
}

// spareFiles holds the files of the next command.
type spareFiles struct {
	made   atomic.Uint64 // how many sets of files
	next   atomic.Pointer[fileSet]
	script atomic.Pointer[os.File] // a script that was read and can be written again
}

// take returns the files of a command, with the output open.
func (d *spareFiles) take(dir string) (s *fileSet, err error) {
	if s = d.next.Swap(nil); s == nil {
		if s, err = d.newFileSet(dir); err != nil {
			return nil, err
		}
	}
	if err = errors.Join(s.out.open(), s.err.open()); err != nil {
		s.remove()
		return nil, fmt.Errorf("make the files of a command: %w", err)
	}
	return s, nil
}

// refill creates the files of the next command, if there are none. If it fails, the next command reports the
// error.
func (d *spareFiles) refill(dir string) {
	if d.next.Load() != nil {
		return
	}
	if s, err := d.newFileSet(dir); err == nil && !d.next.CompareAndSwap(nil, s) {
		s.remove()
	}
}

// newFileSet creates files. Those for output are never reused, because background processes may still write to
// them.
func (d *spareFiles) newFileSet(dir string) (*fileSet, error) {
	s := &fileSet{script: d.script.Swap(nil)}
	name := filepath.Join(dir, strconv.FormatUint(d.made.Add(1), 10))
	var err error
	if s.script == nil {
		s.script, err = os.OpenFile(name+".cmd", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		s.out, err = newOutputPipe(name + ".out")
	}
	if err == nil {
		s.err, err = newOutputPipe(name + ".err")
	}
	if err != nil {
		s.remove()
		return nil, fmt.Errorf("make the files of a command: %w", err)
	}
	return s, nil
}

// putBack takes back the script of a command that has ended as it should.
func (d *spareFiles) putBack(s *fileSet) {
	if d.script.CompareAndSwap(nil, s.script) {
		s.script = nil
	}
}

// empty removes the files.
func (d *spareFiles) empty() {
	s := &fileSet{script: d.script.Swap(nil)}
	s.remove()
	if s = d.next.Swap(nil); s != nil {
		s.remove()
	}
}

// remove closes and removes them.
func (s *fileSet) remove() {
	if s.script != nil {
		s.script.Close()
		os.Remove(s.script.Name())
	}
	for _, p := range []*outputPipe{s.out, s.err} {
		if p != nil {
			p.remove()
		}
	}
}

// write makes text the script that the shell reads.
func (s *fileSet) write(text string) error {
	_, err := s.script.WriteAt([]byte(text), 0)
	if err == nil {
		err = s.script.Truncate(int64(len(text)))
	}
	return err
}
