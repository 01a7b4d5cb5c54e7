// SPDX-License-Identifier: Apache-2.0

//go:build portable

package dir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// workspace makes w, with a below it, beside what must not be reached.
func workspace(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"w/a/b", "w-evil", "secret/a"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"w/out": "../secret", "w/in": "a", "w/a/up": ".."} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(root, "w/file"), []byte("text"), 0o644), unix.Mkfifo(filepath.Join(root, "w/fifo"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return root
}

func newTable(t *testing.T, source string) *Table {
	t.Helper()
	table, err := NewTable([]Mount{{Target: "/w", Source: source, Bind: true}}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// TestOpen opens directories through no link, nor out of what is held.
func TestOpen(t *testing.T) {
	root := workspace(t)
	table := newTable(t, filepath.Join(root, "w"))
	for cwd, want := range map[string]string{
		"/w": "w", "/w/a": "w/a", "/w/a/b": "w/a/b", "/w/a/../a": "w/a",
		"/w/out": "", "/w/out/a": "", "/w/in": "", "/w/a/up/a": "", "/w/file": "", "/w/fifo": "", "/w/none": "", "/w/..": "", "/w-evil": "", "w": "",
	} {
		d, err := table.Open(cwd)
		switch {
		case err == nil && want == "":
			t.Errorf("Open(%s) = %s, want an error", cwd, d.Path())
		case err != nil && want != "":
			t.Errorf("Open(%s): %v", cwd, err)
		case err == nil:
			if d.Path() != filepath.Join(root, want) {
				t.Errorf("Open(%s) = %s, want %s", cwd, d.Path(), want)
			}
		}
		if err == nil {
			d.Close()
		}
	}
}

// TestReplaced puts another directory in the place of the one that is held.
func TestReplaced(t *testing.T) {
	root := workspace(t)
	w := filepath.Join(root, "w")
	table := newTable(t, w)
	if err := errors.Join(os.Rename(w, w+"-old"), os.Rename(filepath.Join(root, "secret"), w)); err != nil {
		t.Fatal(err)
	}
	for _, cwd := range []string{"/w", "/w/a"} {
		if d, err := table.Open(cwd); err == nil {
			t.Errorf("Open(%s) = %s, want an error", cwd, d.Path())
		}
	}
}

// TestFile holds regular files, and neither opens a pipe nor follows a link.
func TestFile(t *testing.T) {
	root := workspace(t)
	table := newTable(t, filepath.Join(root, "w"))
	f, err := table.File("/w/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 8)
		if n, _ := r.Read(b); string(b[:n]) != "text" {
			t.Errorf("it holds %q", b[:n])
		}
		r.Close()
	}
	for _, name := range []string{"/w/out", "/w/out/a", "/w/none"} {
		if _, err := table.File(name); err == nil {
			t.Errorf("File(%s) holds something", name)
		}
	}
	if f, err := table.File("/w/fifo"); err != nil || f.Regular() {
		t.Errorf("File(/w/fifo) = %v, %v", f, err)
	}
	if f, err := OpenPlain(filepath.Join(root, "w/fifo")); err == nil {
		f.Close()
		t.Error("a pipe is taken for a plain file")
	}
}
