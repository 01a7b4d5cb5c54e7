// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
)

// Output goes to files, and only the size of the disk bounds them. So the files of all commands are checked as long as
// a process has them open. The space of passed-on parts is freed. A command is ended if its unread output exceeds the
// limit of its session. Output after a command's end is dropped.

// spool has the files that commands of a table write to.
type spool struct {
	watching sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	files  []*spoolFile
	going  bool
	closed bool
}

// spoolFile is one of them.
type spoolFile struct {
	f    *os.File
	fail func(error) // ends the command; nil when it has ended

	held    limit.Reservation
	backlog dir.Backlog
	over    bool  // the command was ended
	full    error // the disk was full at a check
}

// add checks f regularly until drop, and calls fail when f holds too much.
func (s *spool) add(f *os.File, limits *limit.Session, fail func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, &spoolFile{f: f, fail: fail, held: limit.Reservation{From: limits}})
	if !s.going && !s.closed {
		s.going = true
		// ends when no file is left, or with close, which waits.
		s.watching.Go(s.watch)
	}
}

// close closes the files of commands that have ended, even if other processes have them open. Those of the others are
// closed by drop.
func (s *spool) close() {
	s.mu.Lock()
	s.closed = true
	s.lookLocked()
	s.mu.Unlock()
	s.watching.Wait()
}

func (s *spool) lookLocked() {
	s.files = slices.DeleteFunc(s.files, func(e *spoolFile) bool { return e.look(s.closed) })
}

// full returns the error of a writer to f if the disk is full, or was full at a check.
func (s *spool) full(f *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.files {
		if e.f == f {
			return cmp.Or(e.full, full(f))
		}
	}
	return nil
}

// drop means that f's command has ended. The file is closed when no other process has it open. Until then its
// output is dropped.
func (s *spool) drop(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.files, func(e *spoolFile) bool { return e.f == f })
	if i < 0 {
		f.Close()
		return
	}
	e := s.files[i]
	e.fail = nil
	if e.look(s.closed) {
		s.files = slices.Delete(s.files, i, i+1)
	}
}

func (s *spool) watch() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for range tick.C {
		s.mu.Lock()
		s.lookLocked()
		if s.going = len(s.files) > 0 && !s.closed; !s.going {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// look counts the unread bytes of the file. It reports true when it has closed the file. It closes the file of an ended
// command when no other process has it open, or the session has ended.
func (e *spoolFile) look(over bool) (closed bool) {
	if e.fail == nil {
		e.held.Set(0)
		if over || unused(e.f) {
			e.f.Close()
			return true
		}
	}
	if e.fail == nil || e.over {
		e.f.Truncate(0)
		return false
	}
	at, err := e.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false
	}
	e.full = cmp.Or(e.full, full(e.f)) // before parts of the file are given back
	n, err := e.backlog.DiskBytes(e.f, at)
	if err != nil {
		return false
	}
	if err := e.held.Set(n); err != nil {
		e.over = true
		e.fail(err)
		e.f.Truncate(0)
	}
	return false
}

// CheckSpace writes a small file, and returns the error if that fails, for example for lack of space.
func (t *Table) CheckSpace() error {
	f, err := Spool(t.Dir)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(make([]byte, 4096))
	return err
}

// limitedFile writes to a file whose size counts for the session.
type limitedFile struct {
	f    *os.File // not embedded: its ReadFrom would not be counted
	held limit.Reservation
}

func (c *limitedFile) Write(b []byte) (int, error) {
	if err := c.held.Set(c.held.Amount() + int64(len(b))); err != nil {
		return 0, err
	}
	return c.f.Write(b)
}

func (c *limitedFile) Read(b []byte) (int, error)              { return c.f.Read(b) }
func (c *limitedFile) Seek(off int64, from int) (int64, error) { return c.f.Seek(off, from) }

func (c *limitedFile) Close() error {
	c.held.Set(0)
	return c.f.Close()
}
