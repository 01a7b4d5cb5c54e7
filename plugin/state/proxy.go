// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// ProxyRunning is the error if another process already serves the command from this directory.
type ProxyRunning struct {
	Command string
	PID     int // 0: the process is just starting
}

func (r *ProxyRunning) Error() string {
	return fmt.Sprintf("proxy for '%s' already running (PID %d)", r.Command, r.PID)
}

// ProxyLock is held while this process serves a command from a directory. The lock file is in the state
// directory, where containers cannot write. The pid file beside the requests is only information for
// users.
type ProxyLock struct {
	f           *flock.Flock
	previousPID int
}

// lockRetry is longer than Prune and other readers hold a lock.
const lockRetry = time.Second

// ProxyLocks is the directory with the locks of proxies. It contains a directory for each served directory, named by
// a key.
type ProxyLocks struct{ dir string }

// ProxyLocks returns the directory with the locks of proxies.
func (s *Store) ProxyLocks() ProxyLocks { return ProxyLocks{filepath.Join(s.Home, "proxies")} }

// Lock takes the lock for a command and a directory, which key identifies. The error is a
// *ProxyRunning if another process holds the lock.
func (p ProxyLocks) Lock(key, command string) (*ProxyLock, error) {
	for deadline := time.Now().Add(lockRetry); ; time.Sleep(lockRetry / 100) {
		l, err := p.tryLock(key, command)
		var running *ProxyRunning
		retry := errors.Is(err, fs.ErrNotExist) || errors.As(err, &running) && (running.PID == 0 || !ProcessAlive(running.PID))
		if !retry || time.Now().After(deadline) {
			return l, err
		}
	}
}

func (p ProxyLocks) tryLock(key, command string) (*ProxyLock, error) {
	dir := filepath.Join(p.dir, key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", command, err)
	}
	l := &ProxyLock{f: NewLock(filepath.Join(dir, command+lockSuffix))}
	ok, err := l.f.TryLock()
	if err == nil && ok && !lockFileCurrent(l.f) {
		err = errors.Join(fs.ErrNotExist, l.f.Close()) // the file was removed before it was locked
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", command, err)
	}
	l.previousPID = l.readPID()
	if !ok {
		return nil, &ProxyRunning{Command: command, PID: l.previousPID}
	}
	return l, nil
}

// lockFileCurrent reports whether a held lock's file still has its name. This cannot change later, because only
// the holder removes the file.
func lockFileCurrent(l *flock.Flock) bool {
	held, err := l.Stat()
	named, nerr := os.Stat(l.Path())
	return err == nil && nerr == nil && os.SameFile(held, named)
}

func (p ProxyLocks) lockFiles() []string {
	files, _ := filepath.Glob(filepath.Join(p.dir, "*", "*"+lockSuffix)) // the pattern is valid
	return files
}

// Prune removes the locks that no process holds.
func (p ProxyLocks) Prune() error {
	var errs []error
	for _, path := range p.lockFiles() {
		l := ExistingLock(path)
		if free, err := l.TryLock(); err == nil && free && lockFileCurrent(l) {
			errs = append(errs, os.Remove(path))
		}
		l.Close()
	}
	dirs, _ := filepath.Glob(filepath.Join(p.dir, "*"))
	for _, dir := range dirs {
		_ = os.Remove(dir) // fails if a lock is left
	}
	return errors.Join(errs...)
}

// ExistingLock returns the lock of a file. Unlike flock.New, it never creates the file, so that the file
// cannot reappear in a directory that is being removed. Locking a missing file fails with fs.ErrNotExist. A named pipe
// in its place does not block.
func ExistingLock(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_RDONLY|openFlags))
}

// NewLock is ExistingLock for a file that it creates.
func NewLock(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|openFlags))
}

// LockFree reports whether no process holds the lock of a file, which may be missing.
func LockFree(path string) bool {
	l := ExistingLock(path)
	defer l.Close()
	ok, err := l.TryLock()
	return ok || errors.Is(err, fs.ErrNotExist)
}

const lockSuffix = ".lock"

func (l *ProxyLock) readPID() int {
	b, err := dir.ReadPlain(l.f.Path())
	n, numErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || numErr != nil {
		return 0
	}
	return n
}

// PreviousPID returns the pid of the previous holder if it did not release the lock, or 0. That process has ended;
// the pid may belong to another process now.
func (l *ProxyLock) PreviousPID() int { return l.previousPID }

// WritePID writes this process's pid into the lock file.
func (l *ProxyLock) WritePID() error {
	f, err := os.OpenFile(l.f.Path(), os.O_WRONLY|os.O_TRUNC|openFlags, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, os.Getpid())
	return errors.Join(err, f.Close())
}

// Close releases the lock and removes its file. Otherwise a container that can replace the directory could
// fill the disk with lock files.
func (l *ProxyLock) Close() error {
	var err error
	if lockFileCurrent(l.f) {
		err = os.Remove(l.f.Path())
		_ = os.Remove(filepath.Dir(l.f.Path())) // fails if another command has a lock
	}
	return errors.Join(err, l.f.Close())
}

// Release releases a lock before WritePID. The result of PreviousPID stays in the file for the next holder.
func (l *ProxyLock) Release() error {
	if l.previousPID == 0 {
		return l.Close()
	}
	return l.f.Close()
}

// Killed returns the commands whose proxies were killed. The next proxy of the same directory cleans up
// after them.
func (p ProxyLocks) Killed() (commands []string) {
	for _, path := range p.lockFiles() {
		l := &ProxyLock{f: ExistingLock(path)}
		if free, err := l.f.TryRLock(); err == nil && free && l.readPID() != 0 {
			commands = append(commands, strings.TrimSuffix(filepath.Base(path), lockSuffix))
		}
		l.f.Close()
	}
	return commands
}

// Served returns the commands, except those in mine, that are currently served from the directory of key.
func (p ProxyLocks) Served(key string, mine map[string]bool) (others []string) {
	dir := filepath.Join(p.dir, key)
	entries, _ := os.ReadDir(dir) // if the directory is missing, no command is served
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), lockSuffix)
		if !ok || mine[name] {
			continue
		}
		l := ExistingLock(filepath.Join(dir, e.Name()))
		if free, err := l.TryRLock(); err == nil && !free {
			others = append(others, name)
		}
		l.Close()
	}
	return others
}
