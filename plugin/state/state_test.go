// SPDX-License-Identifier: Apache-2.0

//go:build unix

package state

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHome(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOSTEXEC_HOME", "")
	t.Setenv("DOCKER_CONFIG", dir)
	if got, err := Home(); got != filepath.Join(dir, "hostexec") || err != nil {
		t.Errorf("Home = %q, %v, want it below DOCKER_CONFIG", got, err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, relative := range []string{"state", "./state", "~/state"} {
		t.Setenv("HOSTEXEC_HOME", relative)
		if home, err := Home(); err == nil {
			t.Errorf("HOSTEXEC_HOME=%s is %s, want an error: it would be another one in each directory", relative, home)
		}
	}
	t.Setenv("HOSTEXEC_HOME", filepath.Join(dir, "link", "not", "there"))
	if got, err := Home(); got != filepath.Join(dir, "not", "there") || err != nil {
		t.Errorf("Home = %q, %v, want links resolved", got, err)
	}
}

// Attack 126.
func TestOpenIsPrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	home := filepath.Join(t.TempDir(), "state")
	s, err := OpenAt(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{home, s.sessions()} {
		if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v, want 0700", dir, fi.Mode(), err)
		}
	}
	if err := os.Chmod(home, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAt(home); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("Open of a directory that all may write: %v, want what to type", err)
	}
}

func TestSessions(t *testing.T) {
	s, err := OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rec := &Session{ID: NewID(), Version: "v1", Created: time.Unix(1, 0).UTC(), Container: strings.Repeat("ab", 32), ContainerName: "web",
		Commands: []Command{{Name: "make", Action: "allow", Path: "/usr/bin/make"}}, Carrier: "socket", InvokedIn: "/w"}
	old := syscall.Umask(0o077)
	dir := s.Dir(rec.ID)
	err = s.Create(rec)
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(ShareDir(dir)); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("share: %v, %v, want 0755 whatever the umask", fi.Mode(), err)
	}
	if st, id := StoreOf(dir); st.Home != s.Home || id != rec.ID {
		t.Errorf("StoreOf(%s) = %s, %s", dir, st.Home, id)
	}
	later := &Session{ID: NewID(), Created: time.Unix(2, 0).UTC(), Container: strings.Repeat("ab", 31) + "cd", ContainerName: "web"}
	if err := s.Create(later); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.sessions(), "half-made"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := s.List()
	if err != nil || len(all) != 2 || !reflect.DeepEqual(all[0], *rec) {
		t.Fatalf("List = %+v, %v", all, err)
	}
	for _, tt := range []struct{ ref, want, err string }{
		{rec.ID, rec.ID, ""},
		{rec.ID[:5], rec.ID, ""},
		{rec.Container, rec.ID, ""},
		{"web", later.ID, ""}, // the latest container with that name
		{"abab", "", "names 2 sessions"},
		{"nobody", "", "no such session"},
		{"", "", "no such session"},
	} {
		got, err := s.Find(tt.ref)
		if got.ID != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Find(%q) = %q, %v, want %q, %q", tt.ref, got.ID, err, tt.want, tt.err)
		}
	}
	if got, err := FindIn([]Session{*rec, {ID: NewID(), ContainerName: rec.ID}, {ID: NewID(), ContainerName: rec.Container}}, rec.ID); err != nil || got.ID != rec.ID {
		t.Errorf("a session with an id that is the name of a container: %q, %v", got.ID, err)
	}
	if got, err := FindIn([]Session{*rec, {ID: NewID(), ContainerName: rec.Container}}, rec.Container); err != nil || got.ID != rec.ID {
		t.Errorf("a container with an id that is the name of another: %q, %v", got.ID, err)
	}
	if err := s.Remove(rec.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(rec.ID); err != nil {
		t.Errorf("Remove of a removed session: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory still exists: %v", err)
	}
	for _, bad := range []string{"", "..", "../../x", "0123456789AB"} {
		if err := s.Remove(bad); err == nil {
			t.Errorf("Remove(%q): no error", bad)
		}
		if _, err := s.Load(bad); err == nil {
			t.Errorf("Load(%q): no error", bad)
		}
	}
}

func TestDiscard(t *testing.T) {
	s, err := OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		make  func(dir string) error
		stays bool
	}{
		{"none", func(string) error { return nil }, false},
		{"half made", func(dir string) error { return os.Mkdir(dir, 0o700) }, false},
		{"without a container", func(dir string) error { return s.Create(&Session{ID: filepath.Base(dir)}) }, false},
		{"with a container", func(dir string) error { return s.Create(&Session{ID: filepath.Base(dir), Container: "ab"}) }, true},
		{"unreadable", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, record), []byte("{"), 0o600))
		}, true},
	} {
		id := NewID()
		if err := errors.Join(tt.make(s.Dir(id)), s.Discard(id)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, err := os.Stat(s.Dir(id)); (err == nil) != tt.stays {
			t.Errorf("%s: stat after Discard: %v, stays should be %v", tt.name, err, tt.stays)
		}
	}
}
