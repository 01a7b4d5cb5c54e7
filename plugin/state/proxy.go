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
)

// ProxyRunning is why a command is not served from a directory: another process does.
type ProxyRunning struct {
	Command string
	PID     int // 0: it is just starting
}

func (r *ProxyRunning) Error() string {
	return fmt.Sprintf("proxy for '%s' already running (PID %d)", r.Command, r.PID)
}

// ProxyLock says that this process serves a command from a directory. The lock decides, and
// lies where nobody else can write: the number beside the requests is for people.
type ProxyLock struct {
	f   *flock.Flock
	was int
}

// glance is longer than a lock is held by who only looks at it, or removes it.
const glance = time.Second

// LockProxy takes the lock of a directory, which key tells from others, and a command. The
// error is a *ProxyRunning if somebody has it.
func (s *Store) LockProxy(key, command string) (*ProxyLock, error) {
	for over := time.Now().Add(glance); ; time.Sleep(glance / 100) {
		l, err := s.tryLockProxy(key, command)
		var running *ProxyRunning
		again := errors.Is(err, fs.ErrNotExist) || errors.As(err, &running) && (running.PID == 0 || !ProcessAlive(running.PID))
		if !again || time.Now().After(over) {
			return l, err
		}
	}
}

func (s *Store) tryLockProxy(key, command string) (*ProxyLock, error) {
	dir := filepath.Join(s.Home, "proxies", key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", command, err)
	}
	l := &ProxyLock{f: flock.New(filepath.Join(dir, command+lockSuffix), flock.SetPermissions(0o600))}
	ok, err := l.f.TryLock()
	if err == nil && ok && !current(l.f) {
		err = errors.Join(fs.ErrNotExist, l.f.Close()) // it was removed before we had it
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", command, err)
	}
	l.was = l.number()
	if !ok {
		return nil, &ProxyRunning{Command: command, PID: l.was}
	}
	return l, nil
}

// current reports whether the file of a lock that is held is still the one of that name. It
// stays so: who removes it has to have the lock.
func current(l *flock.Flock) bool {
	held, err := l.Stat()
	named, nerr := os.Stat(l.Path())
	return err == nil && nerr == nil && os.SameFile(held, named)
}

// SweepProxies removes the locks that nobody has.
func (s *Store) SweepProxies() error {
	var errs []error
	locks, _ := filepath.Glob(filepath.Join(s.Home, "proxies", "*", "*"+lockSuffix)) // the pattern is a good one
	for _, path := range locks {
		l := ExistingLock(path)
		if free, err := l.TryLock(); err == nil && free && current(l) {
			errs = append(errs, os.Remove(path))
		}
		l.Close()
	}
	dirs, _ := filepath.Glob(filepath.Join(s.Home, "proxies", "*"))
	for _, dir := range dirs {
		_ = os.Remove(dir) // what has a lock stays
	}
	return errors.Join(errs...)
}

// ExistingLock returns the lock of a file. Unlike flock.New's it never creates the file, so that it cannot come back in
// a folder that is being removed: locking a missing file fails with fs.ErrNotExist.
func ExistingLock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

const lockSuffix = ".lock"

func (l *ProxyLock) number() int {
	b, err := os.ReadFile(l.f.Path())
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return n
}

// Was returns the number of the process that had the lock before and did not give it back,
// or 0. It has gone, whatever process has its number now.
func (l *ProxyLock) Was() int { return l.was }

// Sign writes this process's number into the lock.
func (l *ProxyLock) Sign() error {
	return os.WriteFile(l.f.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

// Close gives the lock back and leaves nothing: whoever can have the directory replaced would
// else fill the disk with locks.
func (l *ProxyLock) Close() error {
	var err error
	if current(l.f) {
		err = os.Remove(l.f.Path())
		_ = os.Remove(filepath.Dir(l.f.Path())) // another command's lock stays
	}
	return errors.Join(err, l.f.Close())
}

// Release gives back a lock that was not signed: what Was says stays, for the next one.
func (l *ProxyLock) Release() error {
	if l.was == 0 {
		return l.Close()
	}
	return l.f.Close()
}

// Killed returns the commands whose proxies were killed: the next one of the same directory
// cleans up after them.
func (s *Store) Killed() (commands []string) {
	locks, _ := filepath.Glob(filepath.Join(s.Home, "proxies", "*", "*"+lockSuffix)) // the pattern is a good one
	for _, path := range locks {
		l := &ProxyLock{f: ExistingLock(path)}
		if free, err := l.f.TryRLock(); err == nil && free && l.number() != 0 {
			commands = append(commands, strings.TrimSuffix(filepath.Base(path), lockSuffix))
		}
		l.f.Close()
	}
	return commands
}

// Proxied returns the commands that are served from the directory of key at the moment, but
// for those in mine.
func (s *Store) Proxied(key string, mine map[string]bool) (others []string) {
	dir := filepath.Join(s.Home, "proxies", key)
	entries, _ := os.ReadDir(dir) // there is none: nobody serves
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
