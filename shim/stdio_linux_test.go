// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// file returns a file with that text, to be read from its beginning.
func file(t *testing.T, text string, flags int) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, name, flags)
}

func open(t *testing.T, name string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestRequest(t *testing.T) {
	s := newStage(t)
	dir := t.TempDir()
	c := s.command("/usr/bin/make", "", "a b\n", "\xff\xfe", strings.Repeat("x", 120<<10))
	c.Dir = dir
	c.Env = append(c.Env, "NAME=value")
	c.start()
	p := s.accept()
	if !reflect.DeepEqual(p.req.Args, c.Args) {
		t.Errorf("args = %.200q, want %.200q", p.req.Args, c.Args)
	}
	if p.req.Cwd != dir {
		t.Errorf("cwd = %q, want %q", p.req.Cwd, dir)
	}
	if got := strings.Join(p.req.Env, " "); !strings.Contains(got, "NAME=value") {
		t.Errorf("env = %q, want NAME=value in it", got)
	}
	if want := ([3]wire.FD{}); p.req.FDs != want || p.req.Passed != 0 || len(p.fds) != 0 {
		t.Errorf("fds = %v, passed %b, %d came; want none", p.req.FDs, p.req.Passed, len(p.fds))
	}
	p.started(wire.Null, wire.Null, wire.Null)
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 42})
	c.wantExit(42)
}

func TestSameOut(t *testing.T) {
	s := newStage(t)
	s.t.Chdir(t.TempDir())
	tests := []struct {
		redirect string
		want     bool
	}{
		{">f 2>&1", true},
		{">f 2>f", false}, // two positions in one file
		{">>f 2>>f", true},
		{">f 2>g", false},
		{">/dev/null 2>&1", false},
		{"<>fifo >fifo 2>&1", true},
	}
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		c := s.sh("exec $SHIM " + tt.redirect).start()
		p := s.accept()
		if p.req.SameOut != tt.want {
			t.Errorf("%s: SameOut = %v, want %v", tt.redirect, p.req.SameOut, tt.want)
		}
		p.exit(wire.Exit{Outcome: wire.Exited})
		c.wantExit(0)
	}
}
