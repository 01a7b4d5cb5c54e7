// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestReadFor checks that programs in the home get a hint what to add to read, and readable
// programs none.
func TestReadFor(t *testing.T) {
	home := t.TempDir()
	for _, program := range []string{".cargo/bin/rustup", ".nvm/versions/node/v20/bin/node", "go/bin/dlv", "tools/x/bin/x", "alone", "open/x", "data/opt/x"} {
		at := filepath.Join(home, program)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{".cargo/bin/cargo": "rustup", ".local": "tools", "lnk": "open/x", "linked": "data/opt"} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	paths := resolved([]sandbox.Path{{Name: "/usr"}, {Name: filepath.Join(home, "open")}, {Name: filepath.Join(home, "linked")}})
	for program, want := range map[string][]string{
		".cargo/bin/cargo": {"~/.cargo/bin", "~/.rustup"}, ".nvm/versions/node/v20/bin/node": {"~/.nvm"}, "go/bin/dlv": {"~/go/bin"},
		"tools/x/bin/x": {"~/tools/x/bin"}, "alone": {"~/alone"}, "open/x": nil, "lnk": nil, "linked/x": nil, "data/opt/x": nil,
	} {
		if got := missingReads(filepath.Join(home, program), home, paths); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	if got := missingReads("/srv/tools/x", home, paths); !slices.Equal(got, []string{"/srv/tools"}) {
		t.Errorf("outside of the home: %q", got)
	}
	path := filepath.Join(home, ".cargo/bin") + ":/usr/bin:" + filepath.Join(home, "linked") + ":/srv"
	if got, want := readablePath(path, paths), "/usr/bin:"+filepath.Join(home, "linked"); got != want {
		t.Errorf("PATH %q, want %q", got, want)
	}
}

// TestCopyOnce copies a cache once, as a whole or not at all, and none that is too large.
func TestCopyOnce(t *testing.T) {
	from, private := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(from, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "a/b/c"), make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(private)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := (&cacheCopy{maxSize: 999}).copyOnce(root, "x/cache", from, nil); err == nil || !strings.Contains(err.Error(), "limits.spool") {
		t.Errorf("a large cache: %v", err)
	}
	if list, err := os.ReadDir(filepath.Join(private, "x")); err != nil || len(list) > 0 {
		t.Errorf("left of a large cache: %v, %v", list, err)
	}
	if err := os.Mkdir(filepath.Join(private, "x/cache.hostexec"), 0o700); err != nil { // of a copy that was killed
		t.Fatal(err)
	}
	for range 2 {
		if err := (&cacheCopy{maxSize: 1000}).copyOnce(root, "x/cache", from, nil); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(private, "x/cache/a/b/c")); err != nil || len(text) != 1000 {
		t.Errorf("the copy has %d bytes, %v", len(text), err)
	}
	if err := (&cacheCopy{maxSize: 1}).copyOnce(root, "none", filepath.Join(from, "none"), nil); err != nil {
		t.Error(err)
	}
}

// TestCopyNames checks that a cache is copied with its directories whose names are not UTF-8, and that they count for
// its size.
func TestCopyNames(t *testing.T) {
	from, private := t.TempDir(), t.TempDir()
	if err := errors.Join(os.MkdirAll(from+"/\xff/a", 0o755), os.WriteFile(from+"/\xff/a/b", make([]byte, 1000), 0o644)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(private)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := (&cacheCopy{maxSize: 999}).copyOnce(root, "cache", from, nil); err == nil || !strings.Contains(err.Error(), "limits.spool") {
		t.Errorf("a large cache: %v", err)
	}
	if err := (&cacheCopy{maxSize: 1000}).copyOnce(root, "cache", from, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(private + "/cache/\xff/a/b"); err != nil || len(text) != 1000 {
		t.Errorf("the copy has %d bytes, %v", len(text), err)
	}
}

// TestCopyShared checks that sessions that share a home copy a cache one after the other. Two copies at once removed
// each other's files, and an incomplete cache stayed.
func TestCopyShared(t *testing.T) {
	const files = 200
	home := t.TempDir()
	cache := filepath.Join(home, "cache")
	err := os.Mkdir(cache, 0o755)
	for i := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(cache, strconv.Itoa(i)), []byte("x"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &policy.Verdict{Args: []string{"make"}, Sandbox: policy.Sandbox{Cache: []string{cache}}}
	for range 10 {
		store := &state.Store{Home: t.TempDir()}
		var wg sync.WaitGroup
		for range 4 {
			s := &sandboxes{rec: NewRecord(store, state.Session{}, nil), dirs: mount.WritableTable(nil), maxCache: func() int64 { return 1 << 20 }}
			// ends with the copy
			wg.Go(func() {
				private, err := s.privateDirs(t.Context(), v, home, nil)
				if err != nil {
					t.Error(err)
				}
				if list, err := os.ReadDir(filepath.Join(private.Home, "cache")); err != nil || len(list) != files {
					t.Errorf("the copy has %d files, %v, want %d", len(list), err, files)
				}
			})
		}
		wg.Wait()
	}
}

// TestCopyWaits checks that a call that waits for another session's copy ends when it is ended. The watcher of that session
// may be suspended: kill, and stop of all sessions with the same home, waited for it.
func TestCopyWaits(t *testing.T) {
	store := &state.Store{Home: t.TempDir()}
	dirs, err := store.SandboxDirs("", nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := dirs.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandboxes{rec: NewRecord(store, state.Session{}, nil), dirs: mount.WritableTable(nil), maxCache: func() int64 { return 1 << 20 }}
	ctx, end := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	done := make(chan error, 1)
	// ends with ctx, or after unlock.
	go func() {
		_, err := s.privateDirs(ctx, &policy.Verdict{Args: []string{"make"}}, t.TempDir(), nil)
		done <- err
	}()
	end(ended)
	select {
	case err := <-done:
		if !errors.Is(err, ended) {
			t.Errorf("privateDirs = %v, want %v", err, ended)
		}
	case <-time.After(10 * time.Second):
		t.Error("an ended call waits for the other session")
		unlock()
		<-done
		return
	}
	unlock()
	if _, err := s.privateDirs(t.Context(), &policy.Verdict{Args: []string{"make"}}, t.TempDir(), nil); err != nil {
		t.Errorf("after the copy of the other session: %v", err)
	}
}

// TestCopyReports checks that a copy that takes long reports how far it is, but not after each file.
func TestCopyReports(t *testing.T) {
	var reports []string
	c := cacheCopy{name: "/home/me/.cache/go-build\x1b", total: 500 << 20, next: time.Now(), report: func(text string) { reports = append(reports, text) }}
	c.add(120 << 20)
	c.add(1)
	want := []string{`copying the cache "/home/me/.cache/go-build\x1b", once for this workspace: 120MiB of 500MiB`}
	if !slices.Equal(reports, want) {
		t.Errorf("reports %q, want %q", reports, want)
	}
}
