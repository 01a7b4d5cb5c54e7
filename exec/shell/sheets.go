// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// sheets are the files for one command that are made before it is known. To make files is
// half of what a short command takes, so those of the next one are made while one runs, when
// nobody waits for them.
type sheets struct {
	script   *os.File // what the shell reads
	out, err *os.File
}

// drawer holds what the next command will need.
type drawer struct {
	made   atomic.Uint64 // how many files
	next   atomic.Pointer[sheets]
	script atomic.Pointer[os.File] // one that was read, to be written again
}

// take returns sheets for a command.
func (d *drawer) take(dir string) (*sheets, error) {
	if s := d.next.Swap(nil); s != nil {
		return s, nil
	}
	return d.sheets(dir)
}

// refill makes the sheets of the next command, if there are none. If it cannot, the next
// command says why.
func (d *drawer) refill(dir string) {
	if d.next.Load() != nil {
		return
	}
	if s, err := d.sheets(dir); err == nil && !d.next.CompareAndSwap(nil, s) {
		s.remove()
	}
}

// sheets makes some. What a command writes to is never used again: whom it left behind may
// still write to it.
func (d *drawer) sheets(dir string) (*sheets, error) {
	s := &sheets{script: d.script.Swap(nil)}
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

// keep takes back the script of a command that has ended as it should.
func (d *drawer) keep(s *sheets) {
	if d.script.CompareAndSwap(nil, s.script) {
		s.script = nil
	}
}

// empty removes what is there.
func (d *drawer) empty() {
	s := &sheets{script: d.script.Swap(nil)}
	s.remove()
	if s = d.next.Swap(nil); s != nil {
		s.remove()
	}
}

// remove closes and removes them.
func (s *sheets) remove() {
	for _, file := range []*os.File{s.script, s.out, s.err} {
		if file != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}
}

// write makes text what the shell reads.
func (s *sheets) write(text string) error {
	_, err := s.script.WriteAt([]byte(text), 0)
	if err == nil {
		err = s.script.Truncate(int64(len(text)))
	}
	return err
}
