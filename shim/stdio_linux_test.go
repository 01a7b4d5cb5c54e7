// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"io"
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

// file returns a file with that text, at offset 0.
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
	s := newFakeHost(t)
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

// TestPassedDescriptorsAreClosed checks that the command takes over pipes and sockets. The shim must close them: otherwise a
// reader would not see EOF when the command closes its stdout and continues.
func TestPassedDescriptorsAreClosed(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	in, _ := pipe(t)
	out, w := pipe(t)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	sock := os.NewFile(uintptr(pair[0]), "socket")
	defer sock.Close()
	defer syscall.Close(pair[1])
	c.Stdin, c.Stdout, c.Stderr = in, w, sock
	c.start()
	p := s.accept()
	if want := [3]wire.FD{wire.FDPipe, wire.FDPipe, wire.FDSocket}; p.req.FDs != want || p.req.Passed != 7 {
		t.Fatalf("fds = %v, passed %b, want %v and all", p.req.FDs, p.req.Passed, want)
	}
	for i, f := range []*os.File{in, w, sock} {
		if got, want := inode(t, p.fds[i]), inode(t, f); got != want {
			t.Errorf("descriptor %d has inode %d, want the caller's own, %d", i, got, want)
		}
	}
	if st, err := w.Stat(); err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("mode of the pipe = %v, %v, want 0666: tee /dev/stdout opens it again", st.Mode(), err)
	}
	w.Close()
	p.started(wire.Taken, wire.Taken, wire.Taken)
	p.fds[1].WriteString("from the command")
	p.fds[1].Close()
	if b, err := io.ReadAll(out); err != nil || string(b) != "from the command" {
		t.Errorf("stdout = %q, %v", b, err)
	}
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
}

func TestSameOut(t *testing.T) {
	s := newFakeHost(t)
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

func TestNotPassed(t *testing.T) {
	s := newFakeHost(t)
	tests := []struct {
		name, script string
		want         [3]wire.FD
		passed       byte
	}{
		{"closed", "exec $SHIM <&- >&- 2>&-", [3]wire.FD{}, 0},
		{"null", "exec $SHIM </dev/null >/dev/null 2>&1", [3]wire.FD{}, 0},
		{"a device", "exec $SHIM </dev/zero", [3]wire.FD{wire.FDOther}, 0},
		{"a directory", "exec $SHIM </", [3]wire.FD{wire.FDOther}, 0},
		{"the wrong end of a pipe", "true | exec $SHIM 3<&0 >&3", [3]wire.FD{wire.FDPipe, wire.FDOther}, 1},
	}
	for _, tt := range tests {
		c := s.sh(tt.script).start()
		p := s.accept()
		if p.req.FDs != tt.want || p.req.Passed != tt.passed {
			t.Errorf("%s: fds = %v, passed %b, want %v, %b", tt.name, p.req.FDs, p.req.Passed, tt.want, tt.passed)
		}
		p.started(wire.Null, wire.Null, wire.Null)
		p.exit(wire.Exit{Outcome: wire.Exited, Code: 9})
		c.wantExit(9)
	}
}
