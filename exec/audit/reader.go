// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Line is one line of a log. Text is without the line's end.
type Line struct {
	File  string
	N     int // from 1
	Text  string
	Whole bool // it has an end, and is not too long to be a record
}

// Torn reports whether the line is half of one, whose writer was killed or found the disk full. No
// record is lost by it: nothing runs before its record is whole.
func (l Line) Torn() bool { return l.Whole && strings.HasSuffix(l.Text+"\n", torn) }

// Reader reads the lines of a log from its oldest file to its newest.
type Reader struct {
	path   string
	follow bool
	cut    bool     // there may have been older files
	queue  []source // the first is being read
	buf    *bufio.Reader
	part   []byte // the beginning of a line whose end was not there yet
	long   bool   // more of that line than part was dropped
	n      int    // lines of the first file that were read
}

// OpenReader reads the log at path, with the files that were put aside, as it is now.
func OpenReader(path string) (*Reader, error) {
	all, err := snapshot(path)
	if err != nil {
		return nil, err
	}
	r := newReader(path, all)
	r.cut = len(all) > 1
	return r, nil
}

// OpenFiles reads the named files, one after the other.
func OpenFiles(names ...string) (*Reader, error) {
	var all []source
	for _, name := range names {
		s, err := openSource(name)
		if err == nil {
			all = append(all, s)
			err = all[len(all)-1].settle()
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
	}
	r := newReader("", all)
	r.cut = len(all) > 1 || len(names) > 0 && afterOthers(names[0])
	return r, nil
}

// afterOthers reports whether a file is one that was put aside, or one of several.
func afterOthers(name string) bool {
	ext := filepath.Ext(name)
	full, _ := rotated(name) // none can be listed: then there are none
	aside, _ := rotated(strings.TrimSuffix(name, ext))
	return len(full) > 0 || slices.ContainsFunc(aside, func(n int) bool { return "."+strconv.Itoa(n) == ext })
}

// settle measures a file when nobody writes.
func (s *source) settle() error {
	if err := lockShared(s.f); err != nil {
		return err
	}
	return errors.Join(s.measure(), unlock(s.f))
}

func newReader(path string, all []source) *Reader {
	r := &Reader{path: path, queue: all, buf: bufio.NewReaderSize(nil, 64<<10)}
	r.begin()
	return r
}

// begin reads the first file of the queue from its beginning.
func (r *Reader) begin() {
	r.part, r.long, r.n = nil, false, 0
	if len(r.queue) > 0 {
		r.buf.Reset(io.LimitReader(r.queue[0].f, r.queue[0].left))
	}
}

// Follow makes what is added later part of what is read: after io.EOF, Next may be called
// again. It is called before the first Next, of a Reader that OpenReader has returned.
func (r *Reader) Follow() {
	r.follow = true
	r.queue[len(r.queue)-1].left = math.MaxInt64
	r.begin()
}

// Next returns the next line. At the end of a file that nobody adds to, half a line is one.
func (r *Reader) Next() (Line, error) {
	for len(r.queue) > 0 {
		if line, ok, err := r.line(); ok || err != nil {
			return line, err
		}
		if len(r.part) > 0 && (len(r.queue) > 1 || !r.follow) {
			return r.take(false), nil
		}
		if more, err := r.advance(); !more || err != nil {
			return Line{}, cmp.Or(err, io.EOF)
		}
	}
	return Line{}, io.EOF
}

// line reads up to the end of a line; it reports false when that is not there.
func (r *Reader) line() (Line, bool, error) {
	for {
		b, err := r.buf.ReadSlice('\n')
		room := maxLine + 1 - len(r.part)
		r.long = r.long || len(b) > room
		r.part = append(r.part, b[:min(len(b), room)]...)
		switch {
		case err == nil:
			return r.take(true), true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return Line{}, false, nil
		default:
			return Line{}, false, err
		}
	}
}

// take makes a line of the part that was read.
func (r *Reader) take(ended bool) Line {
	r.n++
	text := r.part
	if ended && !r.long {
		text = text[:len(text)-1]
	}
	l := Line{File: r.queue[0].name, N: r.n, Text: string(text), Whole: ended && !r.long}
	r.part, r.long = r.part[:0], false
	return l
}

// advance goes on after the end of a file; it reports false when there is nothing more.
func (r *Reader) advance() (bool, error) {
	if len(r.queue) == 1 {
		return r.successors()
	}
	err := r.queue[0].f.Close()
	r.queue = r.queue[1:]
	r.begin()
	return true, err
}

// successors queues the files that were begun after the one that is read.
func (r *Reader) successors() (bool, error) {
	if !r.follow {
		return false, nil
	}
	if now, err := os.Stat(r.path); err == nil && sameAs(r.queue[0].f, now) {
		return false, nil
	}
	all, err := snapshot(r.path)
	if err != nil {
		return false, ignoreMissing(err)
	}
	at := slices.IndexFunc(all, func(s source) bool {
		info, err := s.f.Stat()
		return err == nil && sameAs(r.queue[0].f, info)
	})
	if at == len(all)-1 {
		return false, closeAll(all)
	}
	// It is not written to any more; what was added to it before comes first. When it was
	// removed, so was what came right after it, perhaps.
	err = closeAll(all[:at+1])
	r.queue = append(r.queue[:1:1], all[at+1:]...)
	r.queue[len(r.queue)-1].left = math.MaxInt64
	return true, err
}

// Close closes the files that are still open.
func (r *Reader) Close() error { return closeAll(r.queue) }
