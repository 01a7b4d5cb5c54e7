// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenDir: nothing but a directory is opened, or waited for.
//
// Attack 191.
func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	check(t, syscall.Mkfifo(fifo, 0o600))
	if f, err := openDir(fifo); err == nil {
		f.Close()
		t.Error("a FIFO is held")
	}
	f, err := openDir(dir)
	check(t, err)
	f.Close()
}

// TestDirSwapped checks that a shell starts in the held directory. A text runs in the directory for which it was
// decided, or not at all.
//
// Attack 191.
func TestDirSwapped(t *testing.T) {
	r := newFixture(t)
	one := filepath.Join(r.work, "one")
	check(t, os.Mkdir(one, 0o700))
	check(t, r.Create("held", Options{Dir: one}))
	s, err := r.Find("held")
	check(t, err)
	f, err := openDir(one)
	check(t, err)
	defer f.Close()
	moved := filepath.Join(r.work, "moved")
	check(t, os.Rename(one, moved))
	check(t, os.Symlink("/", one))
	r.config.Dir = int(f.Fd())
	if got := r.text(t, s, "pwd -P").out; got != moved+"\n" {
		t.Errorf("it starts in %q", got)
	}
	for _, how := range []struct {
		name string
		run  func(Command) result
	}{
		{"exec", func(c Command) result { return r.do(t.Context(), s, c) }},
		{"start", func(c Command) result { return r.run(t.Context(), s.Start, c) }},
	} {
		got := how.run(Command{Text: "echo ran", Dir: one, Exact: true})
		if got.code != 1 || got.out != "" || got.err != "Failed to change directory to "+one+"\n" || got.failed != nil {
			t.Errorf("%s in another directory: %+v", how.name, got)
		}
		if got := how.run(Command{Text: `pwd; cd - >/dev/null; pwd`, Dir: "/proc", Exact: true}); got.out != "/proc\n"+moved+"\n" {
			t.Errorf("%s in the directory itself: %+v", how.name, got)
		}
		if got := r.text(t, s, "pwd -P").out; got != moved+"\n" {
			t.Errorf("after %s it stands in %q", how.name, got)
		}
	}
}
