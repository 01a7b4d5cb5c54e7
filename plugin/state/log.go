// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLog is how large a file of a session's log may get. What a container brings about is
// written there, too, for as long as it likes.
const maxLog = 2 << 20

// Log is the log of a session's watcher, which alone writes it. When its file is full, that
// becomes OldLog, in place of the one before, and another is begun: under its name there is
// always one.
type Log struct {
	path string
	f    *os.File
	max  int64
	size int64
}

// OpenLog opens the log in a session's folder, to be added to.
func OpenLog(session string) (*Log, error) { return openLog(LogFile(session)) }

// OpenPageLog opens the log of the person's page, to be added to.
func OpenPageLog(s *Store) (*Log, error) { return openLog(s.PageLog()) }

func openLog(path string) (*Log, error) {
	l := &Log{path: path, max: maxLog}
	var err error
	if l.f, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if fi, err := l.f.Stat(); err == nil {
		l.size = fi.Size()
	}
	return l, nil
}

// Write implements io.Writer. What is written at once stays in one file. Only one at a time
// may call it.
func (l *Log) Write(b []byte) (int, error) {
	var err error
	if l.size > 0 && l.size+int64(len(b)) > l.max {
		err = l.turn()
	}
	n, werr := l.f.Write(b)
	l.size += int64(n)
	return n, errors.Join(err, werr)
}

// turn begins another file. Where that cannot be, as on a full disk, the old one goes on.
func (l *Log) turn() error {
	l.size = 0                                                   // or each line would try again
	next, err := os.CreateTemp(filepath.Dir(l.path), ".watch-*") // 0600
	if err != nil {
		return err
	}
	old := l.path + oldSuffix
	if err = os.Remove(old); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = os.Link(l.path, old)
	}
	if err == nil {
		err = os.Rename(next.Name(), l.path)
	}
	if err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	err = l.f.Close()
	l.f = next
	return err
}

// Close ends the log.
func (l *Log) Close() error { return l.f.Close() }

const oldSuffix = ".old"

// OldLog is where the log in the file path was before it was full, if it ever was.
func OldLog(path string) string { return path + oldSuffix }
