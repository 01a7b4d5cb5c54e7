// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"errors"
	"io"
	"sort"
	"strings"
	"time"
)

// clockSlack is the maximum time by which the writers' clock may have been set back. Records are in the order of their
// writes, which otherwise is the order of their times.
const clockSlack = time.Hour

// searchBlock is the unit of the search for a time, in bytes.
const searchBlock = 64 << 10

// maxSearch is the number of bytes in which a search looks for a record.
const maxSearch = 2 * maxLine

// SkipBefore makes Next skip all records that are older than since, most of them without reading them. It skips a
// younger record only if the clock was set back by more than an hour. Line.N then counts from the first line that
// was read. SkipBefore must be called before the first Next.
func (r *Reader) SkipBefore(since time.Time) error {
	r.since = since
	for len(r.queue) > 0 {
		s := &r.queue[0]
		size, err := s.size()
		if err != nil {
			return err
		}
		at, found, err := firstAfter(io.NewSectionReader(s.f, 0, size), since.Add(-clockSlack))
		if err != nil {
			return err
		}
		if found || len(r.queue) == 1 {
			return r.beginAt(at)
		}
		if _, err := r.advance(); err != nil {
			return err
		}
	}
	return nil
}

// size returns the number of bytes that the file has now, and at most those to be read.
func (s *source) size() (int64, error) {
	info, err := s.f.Stat()
	if err != nil {
		return 0, err
	}
	return min(s.left, info.Size()), nil
}

// beginAt starts to read the current file at offset at.
func (r *Reader) beginAt(at int64) error {
	s := &r.queue[0]
	if _, err := s.f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	s.left -= at
	r.begin()
	return nil
}

// firstAfter returns the offset of a line such that all records before it are older than t. If all records of the log
// are older, it returns the offset of the last record, and reports false.
func firstAfter(log *io.SectionReader, t time.Time) (at int64, found bool, err error) {
	blocks := int((log.Size() + searchBlock - 1) / searchBlock)
	n := sort.Search(blocks, func(i int) bool {
		when, _, e := firstIn(log, int64(i)*searchBlock)
		if e != nil && !errors.Is(e, io.EOF) && !errors.Is(e, errNoRecord) {
			err = e
		}
		return e != nil || !when.Before(t)
	})
	if err != nil || n == 0 {
		return 0, blocks > 0, err
	}
	at = int64(n-1) * searchBlock // the last block that begins with an older record
	for from := at; ; from = at + 1 {
		when, line, err := firstIn(log, from)
		switch {
		case errors.Is(err, io.EOF):
			return at, false, nil
		case errors.Is(err, errNoRecord):
			return at, true, nil
		case err != nil:
			return 0, false, err
		}
		if at = line; !when.Before(t) {
			return at, true, nil
		}
	}
}

// errNoRecord means that no line of a long part of the log is a record.
var errNoRecord = errors.New("no record")

// firstIn returns the time and the beginning of the first record whose line begins at offset from or later. It
// returns io.EOF if there is none before the end of the log.
func firstIn(log *io.SectionReader, from int64) (when time.Time, at int64, err error) {
	at = max(0, from-1)
	buf := bufio.NewReader(io.NewSectionReader(log, at, log.Size()-at))
	inLine := from > 0 // from may be in the middle of a line
	for at < from+maxSearch {
		text, err := buf.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(text) == 0 {
			return when, at, err
		}
		if when, ok := timeOf(string(text[:min(len(text), timeLen)])); ok && !inLine {
			return when, at, nil
		}
		inLine = err != nil
		at += int64(len(text))
	}
	return when, at, errNoRecord
}

// timeLen is the length of the part of a line that timeOf reads.
const timeLen = len("2026-01-31T12:00:00Z") + len(recordTag) + 2

// timeOf returns the time of the record that line begins with.
func timeOf(line string) (time.Time, bool) {
	text, rest, _ := strings.Cut(line[:min(len(line), timeLen)], " ")
	when, err := time.Parse(time.RFC3339, text)
	return when, err == nil && strings.HasPrefix(rest, recordTag+" ")
}

// isOld reports whether l is a record that SkipBefore skips.
func (r *Reader) isOld(l Line) bool {
	if r.since.IsZero() {
		return false
	}
	when, ok := timeOf(l.Text)
	return ok && when.Before(r.since)
}
