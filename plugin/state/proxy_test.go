// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestPruneProxyLocks checks that held locks stay. Other locks are removed together with their directories.
func TestPruneProxyLocks(t *testing.T) {
	s := &Store{Home: t.TempDir()}
	lock := func(key, command string) *ProxyLock {
		t.Helper()
		l, err := s.ProxyLocks().Lock(key, command)
		if err == nil {
			err = l.WritePID()
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	held, given := lock("one", "make"), lock("one", "git")
	gone, killed := lock("two", "make"), lock("three", "make")
	if err := errors.Join(given.Close(), gone.Close(), killed.f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.ProxyLocks().Prune(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(s.Home, "proxies", "*", "*"))
	dirs, derr := os.ReadDir(filepath.Join(s.Home, "proxies"))
	if err != nil || derr != nil || len(left) != 1 || len(dirs) != 1 || filepath.Base(left[0]) != "make.lock" {
		t.Errorf("left: %q in %v, %v, %v", left, dirs, err, derr)
	}
	var running *ProxyRunning
	if _, err := s.ProxyLocks().Lock("one", "make"); !errors.As(err, &running) || running.PID != os.Getpid() {
		t.Errorf("the held lock: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	lock("one", "make").Close()
}

// TestPruneProxyLocksRace takes a lock repeatedly during prunes. The lock's file must never be a removed one,
// because another process could then lock a new file.
func TestPruneProxyLocksRace(t *testing.T) {
	s := &Store{Home: t.TempDir()}
	var wg, pruners sync.WaitGroup
	var over atomic.Bool
	for range 2 {
		// Ends when the goroutines below have ended.
		pruners.Go(func() {
			for !over.Load() {
				if err := s.ProxyLocks().Prune(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var taken atomic.Int32
	for range 4 {
		// Ends by itself.
		wg.Go(func() {
			for range 2000 {
				l, err := s.ProxyLocks().tryLock("key", "make")
				if err != nil {
					continue
				}
				taken.Add(1)
				if !lockFileCurrent(l.f) {
					t.Error("the file of the held lock was removed")
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	over.Store(true)
	pruners.Wait()
	if taken.Load() == 0 {
		t.Error("no goroutine got the lock")
	}
}

// TestProxyLockLeaves checks that Close leaves no file. Release keeps the pid of a killed proxy. Lock
// waits for a lock that is about to be released.
func TestProxyLockLeaves(t *testing.T) {
	s := &Store{Home: t.TempDir()}
	left := func() (names []string) {
		names, _ = filepath.Glob(filepath.Join(s.Home, "proxies", "*"))
		return names
	}
	for name, giveBack := range map[string]func(*ProxyLock) error{"closed": (*ProxyLock).Close, "released": (*ProxyLock).Release} {
		l, err := s.ProxyLocks().Lock("key", "make")
		if err == nil {
			err = giveBack(l)
		}
		if err != nil || len(left()) != 0 {
			t.Errorf("%s: left %q, %v", name, left(), err)
		}
	}
	killed, err := s.ProxyLocks().Lock("key", "make")
	if err == nil {
		err = errors.Join(os.WriteFile(killed.f.Path(), []byte("4194999\n"), 0o600), killed.f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.ProxyLocks().Lock("key", "make")
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error)
	// Ends by itself.
	go func() { released <- l.Release() }()
	next, err := s.ProxyLocks().Lock("key", "make")
	if err = errors.Join(err, <-released); err != nil {
		t.Fatal(err)
	}
	if got := s.ProxyLocks().Killed(); next.PreviousPID() != 4194999 || len(got) != 0 {
		t.Errorf("the next one has %d before it, %q are killed", next.PreviousPID(), got)
	}
	if err := next.Close(); err != nil || len(left()) != 0 {
		t.Errorf("left %q, %v", left(), err)
	}
}

func TestLockFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if !LockFree(path) {
		t.Error("a missing lock is held")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("LockFree has created the file: %v", err)
	}
	holder := NewLock(path)
	for name, try := range map[string]func() (bool, error){"exclusive": holder.TryLock, "shared": holder.TryRLock} {
		if ok, err := try(); !ok {
			t.Fatal(err)
		}
		if LockFree(path) {
			t.Errorf("a %s lock is free", name)
		}
		if err := holder.Unlock(); err != nil {
			t.Fatal(err)
		}
		if !LockFree(path) {
			t.Errorf("after an %s lock, it is still held", name)
		}
	}
	if runtime.GOOS != "windows" && LockFree(filepath.Join(path, "below")) { // Windows says that it is missing
		t.Error("a lock that cannot be opened is free")
	}
}
