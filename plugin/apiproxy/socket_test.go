// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiproxy

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestListen checks where a socket may be made, and that a failure leaves nothing.
//
// Attack 256.
func TestListen(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	dir, err := os.MkdirTemp("/tmp", "h") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	store, err := state.OpenAt(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	file, dead, live := filepath.Join(dir, "file"), filepath.Join(dir, "dead"), filepath.Join(dir, "live")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dead, live} {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		if path == dead {
			ln.Close()
		} else {
			t.Cleanup(func() { ln.Close() })
		}
	}
	everybodys, sticky, mounted := filepath.Join(dir, "everybodys"), filepath.Join(dir, "sticky"), filepath.Join(dir, "mounted")
	for at, mode := range map[string]os.FileMode{everybodys: 0o777, sticky: 0o777 | os.ModeSticky, filepath.Join(mounted, "below"): 0o700} {
		if err := errors.Join(os.MkdirAll(at, 0o700), os.Chmod(at, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Create(&state.Session{ID: state.NewID(), Writable: []string{mounted}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{filepath.Join(everybodys, "s"), "every user could replace"}, {filepath.Join(sticky, "s"), ""},
		{filepath.Join(mounted, "below", "s"), "a container could replace"},
		{"", ""}, {dead, ""}, {filepath.Join(dir, "new"), ""},
		{file, "not a socket"}, {live, "another process listens there"}, {filepath.Join(dir, "none", "s"), "no such file"},
		{filepath.Join(dir, strings.Repeat("x", 100)), "no client could connect"},
	} {
		s, err := Listen(store, tt.path)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Listen(%q): %v, want %s", tt.path, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("Listen(%q): %v", tt.path, err)
			continue
		}
		if fi, err := os.Stat(s.Path); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("Listen(%q): %v, %v", tt.path, fi, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close %q: %v", tt.path, err)
		}
	}
	if left, err := os.ReadDir(store.APIProxies()); err != nil || len(left) > 0 {
		t.Errorf("%v stay (%v)", left, err)
	}
}

// TestPrune checks that only what killed proxies left is removed.
func TestPrune(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	home, err := os.MkdirTemp("/tmp", "h") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	store := &state.Store{Home: home}
	var all [2]*Socket
	for i := range all {
		if all[i], err = Listen(store, ""); err != nil {
			t.Fatal(err)
		}
		if err := all[i].Record(Context{Name: "c", Host: all[i].Host()}); err != nil {
			t.Fatal(err)
		}
	}
	killed, runs := all[0], all[1]
	defer runs.Close()
	killed.lock.Close() // as the kernel does
	var removed []Context
	if err := Prune(store, func(c Context) error { removed = append(removed, c); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(removed) != 1 || removed[0].Host != killed.Host() {
		t.Errorf("the contexts %v were removed, want that of %s", removed, killed.Host())
	}
	left, err := os.ReadDir(store.APIProxies())
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(runs.dir) {
		t.Errorf("%v stay (%v), want %s", left, err, filepath.Base(runs.dir))
	}
}

// TestRuntimeDir checks that the socket is in the user's runtime directory if only the user can
// enter it.
func TestRuntimeDir(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "h") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	store := &state.Store{Home: filepath.Join(base, "home")}
	private, shared, link, file := filepath.Join(base, "private"), filepath.Join(base, "shared"), filepath.Join(base, "link"), filepath.Join(base, "file")
	if err := errors.Join(os.Mkdir(private, 0o700), os.Mkdir(shared, 0o755), os.Symlink(private, link), os.WriteFile(file, nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(base)
	for _, tt := range []struct{ runtime, below string }{
		{private, private}, {private + "/", private},
		{"", store.Home}, {"private", store.Home}, {shared, store.Home}, {link, store.Home}, {file, store.Home}, {private + "/none", store.Home},
	} {
		t.Setenv("XDG_RUNTIME_DIR", tt.runtime)
		s, err := Listen(store, "")
		if err != nil {
			t.Errorf("XDG_RUNTIME_DIR=%q: %v", tt.runtime, err)
			continue
		}
		fi, err := os.Stat(filepath.Dir(s.Path))
		if !strings.HasPrefix(s.Path, tt.below+"/") || err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("XDG_RUNTIME_DIR=%q: the socket is %s (%v, %v), want it below %s", tt.runtime, s.Path, fi, err, tt.below)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", private)
	killed, err := Listen(store, "")
	if err != nil {
		t.Fatal(err)
	}
	killed.lock.Close()             // as the kernel does
	t.Setenv("XDG_RUNTIME_DIR", "") // prune may be called elsewhere
	if err := Prune(store, nil); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(private)
	if err != nil || len(left) > 0 {
		t.Errorf("%v stay (%v)", left, err)
	}
}
