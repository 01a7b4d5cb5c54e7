// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestBaseReplaced moves the directory above a shared one, and puts a link to another in its place.
// Directories are made below the one that is held, and none in the other.
//
// Attack 226.
func TestBaseReplaced(t *testing.T) {
	top := t.TempDir()
	at, victim := filepath.Join(top, "base"), filepath.Join(top, "victim")
	if err := errors.Join(os.Mkdir(at, 0o700), os.Mkdir(victim, 0o700), os.Symlink("base", top+"/link")); err != nil {
		t.Fatal(err)
	}
	b, err := OpenBase(top + "/link") // the person may name it by a link
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	shared, err := b.Make("requests/make", ForEveryone)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	key, err := b.Key()
	if again, aerr := ReopenBase(b.Real(), key); err != nil || aerr != nil || !b.InPlace() || !shared.InPlace() || again.Close() != nil {
		t.Fatalf("before: %v, %v, base named: %t, shared named: %t", err, aerr, b.InPlace(), shared.InPlace())
	}
	if err := errors.Join(os.Rename(at, at+".old"), os.Symlink(victim, at)); err != nil {
		t.Fatal(err)
	}
	if b.InPlace() || shared.InPlace() {
		t.Errorf("after: base named: %t, shared named: %t, want neither", b.InPlace(), shared.InPlace())
	}
	if _, err := ReopenBase(b.Real(), key); err == nil {
		t.Error("HoldAgain followed a link")
	}
	if err := errors.Join(os.Remove(at), os.Mkdir(at, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReopenBase(b.Real(), key); !errors.Is(err, ErrReplaced) {
		t.Errorf("HoldAgain of another directory: %v, want %v", err, ErrReplaced)
	}
	other, err := b.Make("requests/git", ForOwner)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Stat(at + ".old/requests/git"); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{victim, at} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
}

// TestUntrustedDirThroughLink replaces the shared directory, and the one above it, by a link. Names that
// lead through a link are not served.
func TestUntrustedDirThroughLink(t *testing.T) {
	for _, rest := range []string{"requests", "requests/make"} {
		b, at, _ := newUntrustedDir(t)
		name := filepath.Join(strings.TrimSuffix(at, "requests/make"), rest)
		if !b.InPlace() {
			t.Fatal("a new one has no name")
		}
		if err := errors.Join(os.Rename(name, name+".old"), os.Symlink(filepath.Base(name)+".old", name)); err != nil {
			t.Fatal(err)
		}
		if b.InPlace() {
			t.Errorf("a link in place of %s counts", rest)
		}
	}
}

// TestBaseOpen opens existing directories and creates none.
func TestBaseOpen(t *testing.T) {
	at := t.TempDir()
	b, err := OpenBase(at)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := os.Symlink("/", at+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{"x", "x/y", "link", "link/tmp", "..", "/tmp"} {
		if shared, err := b.Open(rest); err == nil {
			t.Errorf("Open(%q) = %s, want an error", rest, shared.Path())
		}
	}
	if left, err := os.ReadDir(at); err != nil || len(left) != 1 {
		t.Errorf("it has %v, %v", left, err)
	}
}

// TestMakeLeavesUmask makes directories while commands start, which have this process's umask.
func TestMakeLeavesUmask(t *testing.T) {
	umask := func() string {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nUmask:")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	b, err := OpenBase(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := umask()
	var done atomic.Bool
	made := make(chan error)
	// ends with done.
	go func() {
		var err error
		for !done.Load() && err == nil {
			var shared *UntrustedDir
			if shared, err = b.Make("a/b/c/d", ForEveryone); err == nil {
				err = shared.Close()
			}
		}
		made <- err
	}()
	for range 3000 {
		if got := umask(); got != want {
			t.Errorf("umask %s, want %s", got, want)
			break
		}
	}
	done.Store(true)
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// TestSetMode checks that setMode changes the mode of the new directory, but not of one that replaced it.
func TestSetMode(t *testing.T) {
	at := t.TempDir()
	if err := errors.Join(os.Mkdir(at+"/new", 0o700), os.MkdirAll(at+"/other/x", 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"new": 0o777, "other": 0o700} {
		fd, err := openRoot(filepath.Join(at, name))
		if err != nil {
			t.Fatal(err)
		}
		err = setMode(fd, 0o777)
		closeFD(fd)
		fi, serr := os.Stat(filepath.Join(at, name))
		if serr != nil || fi.Mode().Perm() != want || errors.Is(err, ErrReplaced) != (want == 0o700) {
			t.Errorf("%s: %v, has %v, %v, want mode %v", name, err, fi, serr, want)
		}
	}
}
