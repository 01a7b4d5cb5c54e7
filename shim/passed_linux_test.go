// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Pipes and sockets become the command's own; the shim lets go of them, or a reader
// would not see the end when the command closes its stdout and goes on.
func TestTaken(t *testing.T) {
	s := newStage(t)
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

func TestWhatIsNotPassed(t *testing.T) {
	s := newStage(t)
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

// As pid 1 the kernel lets a process neither stop nor die by its own hand.
func TestAsPid1(t *testing.T) {
	s := newStage(t)
	c := s.command("make")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER // where others may do that too
	}
	c.start()
	p := s.accept()
	p.runs()
	p.send(wire.KindStopped, nil)
	p.want(wire.KindSignal, "CONT")
	listening(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGTERM)
	p.want(wire.KindSignal, "TERM")
	p.exit(wire.Exit{Outcome: wire.Signaled, Signal: "TERM", Code: 143})
	c.wantExit(143)
}
