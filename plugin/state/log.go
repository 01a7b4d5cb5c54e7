// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLog is the maximum size of a log file in bytes. A container can cause any number of log records.
const maxLog = 2 << 20

// Log is the log of a session's watcher, or of the page. It has one writer. When the file is full, it replaces OldLog
// and a new file is created. A file with the log's name always exists.
type Log struct {
	path string
	f    *os.File
	max  int64
	size int64
}

// OpenLog opens the log in a session's directory for appending.
func OpenLog(session string) (*Log, error) { return openLog(LogFile(session)) }

// OpenPageLog opens the log of the user's page for appending.
func OpenPageLog(s *Store) (*Log, error) { return openLog(s.PageLog()) }

func openLog(path string) (*Log, error) {
	l := &Log{path: path, max: maxLog}
	var err error
	if l.f, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|openFlags, 0o600); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if fi, err := l.f.Stat(); err == nil {
		l.size = fi.Size()
	}
	return l, nil
}

// Write implements io.Writer. The bytes of one call stay in one file. Concurrent calls are not allowed.
func (l *Log) Write(b []byte) (int, error) {
	var err error
	if l.size > 0 && l.size+int64(len(b)) > l.max {
		err = l.rotate()
	}
	n, werr := l.f.Write(b)
	l.size += int64(n)
	return n, errors.Join(err, werr)
}

// rotate starts a new file. If that fails, for example on a full disk, the old file is used further.
func (l *Log) rotate() error {
	l.size = 0                                                   // a failure must not be retried for each line
	next, err := os.CreateTemp(filepath.Dir(l.path), ".watch-*") // mode 0600
	if err != nil {
		return err
	}
	old := OldLog(l.path)
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

func (l *Log) Close() error { return l.f.Close() }

// OldLog returns the path of the previous file of the log at path. It may not exist.
func OldLog(path string) string { return path + ".old" }
