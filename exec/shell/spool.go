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

// Output goes to files, and only the size of the disk bounds them. So the files of all commands are checked while the
// commands run. The space of passed-on parts is freed. A command is ended if its unread output exceeds the limit of its
// session. Output after a command's end is dropped.

// spool has the files to which the output of a table's commands is copied, and the FIFOs of ended commands.
type spool struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	files  []*spoolFile
	left   map[*os.File]bool // FIFOs of ended commands, to which other processes may write
	going  bool
	closed bool
}

// spoolFile is one of them.
type spoolFile struct {
	f    *os.File
	fail func(error) // ends the command

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
		s.running.Go(s.watch)
	}
}

// close closes the FIFOs of commands that have ended, even if other processes have them open. The files of the others
// are closed by drop.
func (s *spool) close() {
	s.mu.Lock()
	s.closed = true
	for r := range s.left {
		r.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
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

// drop closes f, whose command has ended.
func (s *spool) drop(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = slices.DeleteFunc(s.files, func(e *spoolFile) bool {
		if e.f == f {
			e.held.Set(0)
		}
		return e.f == f
	})
	f.Close()
}

// discard reads the FIFO of an ended command, and closes it when no process can write to it any more. Otherwise,
// background processes would wait or get PIPE.
func (s *spool) discard(r *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		r.Close()
		return
	}
	if s.left == nil {
		s.left = map[*os.File]bool{}
	}
	s.left[r] = true
	// ends when no process has the FIFO open, or with close, which waits.
	s.running.Go(func() {
		io.Copy(io.Discard, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.left, r)
		r.Close()
	})
}

func (s *spool) watch() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for range tick.C {
		s.mu.Lock()
		for _, e := range s.files {
			e.look()
		}
		if s.going = len(s.files) > 0 && !s.closed; !s.going {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// look counts the unread bytes of the file.
func (e *spoolFile) look() {
	if e.over {
		e.f.Truncate(0)
		return
	}
	at, err := e.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return
	}
	e.full = cmp.Or(e.full, full(e.f)) // before parts of the file are given back
	n, err := e.backlog.DiskBytes(e.f, at)
	if err != nil {
		return
	}
	if err := e.held.Set(n); err != nil {
		e.over = true
		e.fail(err)
		e.f.Truncate(0)
	}
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
