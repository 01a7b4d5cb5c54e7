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
	"time"
)

// Line is one line of a log. Text does not include the line end.
type Line struct {
	File       string
	N          int // from 1
	Text       string
	Recordable bool // the line has a line end, and is not too long for a record
}

// Incomplete reports whether the writer of the line was killed during the write, or found the disk full. No command
// runs without a complete START record. Another record, such as COMPLETE, is lost if its writer was killed.
func (l Line) Incomplete() bool {
	return l.Recordable && strings.HasSuffix(l.Text+"\n", incompleteLineEnd)
}

// Reader reads the lines of a log from its oldest file to its newest.
type Reader struct {
	path              string
	follow            bool
	mayLackOlderFiles bool     // older files may have existed
	queue             []source // the first one is the current file
	buf               *bufio.Reader
	partialLine       []byte // the beginning of a line that has no end yet
	long              bool   // bytes of that line were dropped
	n                 int    // lines of the current file read so far
	since             time.Time
}

// OpenReader opens the log at path with its rotated files, as they are now.
func OpenReader(path string) (*Reader, error) {
	all, err := snapshot(path)
	if err != nil {
		return nil, err
	}
	r := newReader(path, all)
	r.mayLackOlderFiles = len(all) > 1
	return r, nil
}

// OpenFiles opens the named files, to be read in order.
func OpenFiles(names ...string) (*Reader, error) {
	var all []source
	for _, name := range names {
		s, err := openSource(name)
		if err == nil {
			all = append(all, s)
			err = all[len(all)-1].measureLocked()
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
	}
	r := newReader("", all)
	r.mayLackOlderFiles = len(all) > 1 || len(names) > 0 && isRotated(names[0])
	return r, nil
}

// isRotated reports whether name is a rotated file, or a log that has rotated files.
func isRotated(name string) bool {
	ext := filepath.Ext(name)
	full, _ := rotated(name) // on error there are no rotated files
	aside, _ := rotated(strings.TrimSuffix(name, ext))
	return len(full) > 0 || slices.ContainsFunc(aside, func(n int) bool { return "."+strconv.Itoa(n) == ext })
}

// measureLocked measures a file while no process writes to it.
func (s *source) measureLocked() error {
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

// begin starts to read the first file of the queue.
func (r *Reader) begin() {
	r.partialLine, r.long, r.n = nil, false, 0
	if len(r.queue) > 0 {
		r.buf.Reset(io.LimitReader(r.queue[0].f, r.queue[0].left))
	}
}

// Follow makes Next also return lines that are added later: Next may be called again after io.EOF.
// Follow must be called before the first Next, and only on a Reader from OpenReader.
func (r *Reader) Follow() {
	r.follow = true
	r.queue[len(r.queue)-1].left = math.MaxInt64
	r.begin()
}

// Next returns the next line. An incomplete line at the end counts as a line if the file cannot
// grow.
func (r *Reader) Next() (Line, error) {
	for len(r.queue) > 0 {
		if line, ok, err := r.line(); ok || err != nil {
			if err == nil && r.isOld(line) {
				continue
			}
			return line, err
		}
		if len(r.partialLine) > 0 && (len(r.queue) > 1 || !r.follow) {
			return r.take(false), nil
		}
		if more, err := r.advance(); !more || err != nil {
			return Line{}, cmp.Or(err, io.EOF)
		}
	}
	return Line{}, io.EOF
}

// line reads up to the end of a line. It reports false if there is no line end yet.
func (r *Reader) line() (Line, bool, error) {
	for {
		b, err := r.buf.ReadSlice('\n')
		free := maxLine + 1 - len(r.partialLine)
		r.long = r.long || len(b) > free
		r.partialLine = append(r.partialLine, b[:min(len(b), free)]...)
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

// take returns a Line made of the bytes read so far.
func (r *Reader) take(ended bool) Line {
	r.n++
	text := r.partialLine
	if ended && !r.long {
		text = text[:len(text)-1]
	}
	l := Line{File: r.queue[0].name, N: r.n, Text: string(text), Recordable: ended && !r.long}
	r.partialLine, r.long = r.partialLine[:0], false
	return l
}

// advance continues after the end of a file. It reports false if there is no more data.
func (r *Reader) advance() (bool, error) {
	if len(r.queue) == 1 {
		return r.successors()
	}
	err := r.queue[0].f.Close()
	r.queue = r.queue[1:]
	r.begin()
	return true, err
}

// successors queues the files that were created after the current file.
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
	// The current file is not written any more; its remaining lines come first. If it was removed,
	// its direct successors may have been removed too.
	err = closeAll(all[:at+1])
	r.queue = append(r.queue[:1:1], all[at+1:]...)
	r.queue[len(r.queue)-1].left = math.MaxInt64
	return true, err
}

// Close closes the files that are still open.
func (r *Reader) Close() error { return closeAll(r.queue) }
