// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// damages replace a record by something else.
var damages = map[string]func(path string) error{
	"nothing":           os.Remove,
	"an empty file":     func(path string) error { return os.Truncate(path, 0) },
	"half of it":        func(path string) error { return os.Truncate(path, 20) },
	"null":              func(path string) error { return os.WriteFile(path, []byte("null"), 0o600) },
	"another session's": func(path string) error { return os.WriteFile(path, []byte(`{"id":"0123456789ab"}`), 0o600) },
	"a huge file":       func(path string) error { return os.Truncate(path, 1<<40) },
	"a pipe":            func(path string) error { return replace(path, func() error { return syscall.Mkfifo(path, 0o600) }) },
	"a socket": func(path string) error {
		return replace(path, func() error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) })
	},
	"a directory": func(path string) error {
		return replace(path, func() error { return os.MkdirAll(path+"/in/it", 0o700) })
	},
	"a link to nothing": func(path string) error { return replace(path, func() error { return os.Symlink("nothing", path) }) },
	"a link to a pipe": func(path string) error {
		if err := syscall.Mkfifo(path+".pipe", 0o600); err != nil && err != syscall.EEXIST {
			return err
		}
		return replace(path, func() error { return os.Symlink(path+".pipe", path) })
	},
}

func replace(path string, by func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return by()
}

// TestRecordDamaged checks that a damaged record is replaced by the spare one. Without the spare, a
// session with a watcher is still listed by its id.
func TestRecordDamaged(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s, err := OpenAt(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			want := Session{ID: NewID(), Version: "1", Created: time.Now().UTC().Truncate(time.Second), ContainerName: "web"}
			if err := s.Create(&want); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(s.Dir(want.ID), record)
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Load(want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("Load = %+v, %v, want %+v", got, err, want)
			}
			if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm() != 0o600 {
				t.Errorf("the record is %v, %v now", fi, err)
			}
			if err := damage(filepath.Join(s.Dir(want.ID), spareRecord)); err != nil {
				t.Fatal(err)
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			unreadable(t, s, want)
			if err := s.Save(&want); err != nil {
				t.Error(err)
			}
			if got, err := s.Load(want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Load after another Save = %+v, %v", got, err)
			}
			if err := s.Remove(want.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// unreadable checks that a session without any record is listed only while it has a watcher.
func unreadable(t *testing.T, s *Store, rec Session) {
	t.Helper()
	if got, err := s.Load(rec.ID); err == nil {
		t.Errorf("Load of an invalid record = %+v", got)
	}
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("List without a watcher = %+v, %v", all, err)
	}
	dir := s.Dir(rec.ID)
	if err := os.WriteFile(ControlSock(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(LockFile(dir))
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lock.Close()
	if all, err := s.List(); err != nil || len(all) != 1 || all[0].ID != rec.ID {
		t.Errorf("List with a watcher = %+v, %v", all, err)
	}
	if got := s.IncompleteDirs(-time.Hour); len(got) != 0 {
		t.Errorf("IncompleteDirs with a watcher = %q", got)
	}
}

// TestNamedPipes: no file of the state directory blocks its reader or writer, if somebody has made it a named pipe.
func TestNamedPipes(t *testing.T) {
	s, err := OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := NewID()
	if err := os.Mkdir(s.Dir(id), 0o700); err != nil {
		t.Fatal(err)
	}
	log := LogFile(s.Dir(id))
	proxyLock := filepath.Join(s.ProxyLocks().dir, "key", "make"+lockSuffix)
	if err := os.MkdirAll(filepath.Dir(proxyLock), 0o700); err != nil {
		t.Fatal(err)
	}
	lock := func() error {
		l, err := s.ProxyLocks().Lock("key", "make")
		if err == nil {
			err = errors.Join(l.WritePID(), l.Close())
		}
		return err
	}
	for path, use := range map[string]func() error{
		LockFile(s.Dir(id)):   func() error { s.Served(id); return nil },
		LeaseFile(s.Dir(id)):  func() error { s.Served(id); return nil },
		s.DevContainersLock(): func() error { l := NewLock(s.DevContainersLock()); defer l.Close(); _, err := l.TryLock(); return err },
		s.enginesFile():       func() error { return s.NoteEngine("unix:///a", s.Engine("unix:///a")) },
		s.callEngines():       func() error { _, err := s.CallEngines(); return wantError(err) },
		log:                   func() error { _, err := OpenLog(s.Dir(id)); return wantError(err) },
		s.stopped(id):         func() error { return s.NoteStopped(id, true) },
		proxyLock:             lock,
		s.PageLog():           func() error { _, err := OpenPageLog(s); return wantError(err) },
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if err := os.WriteFile(ControlSock(s.Dir(id)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := exectest.WithFIFO(t, path, use); err != nil {
				t.Error(err)
			}
		})
	}
}

func wantError(err error) error {
	if err == nil {
		return errors.New("it is used")
	}
	return nil
}
