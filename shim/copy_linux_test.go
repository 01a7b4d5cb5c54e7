// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestFileIsRewound covers while read l; do make $l; done < list: the loop gets the bytes that the command
// did not read.
func TestFileIsRewound(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	f := file(t, "0123456789", os.O_RDONLY)
	f.Seek(1, io.SeekStart) // the loop has read one byte
	c.Stdin = f
	c.start()
	p := s.accept()
	if p.req.FDs[0] != wire.FDFile || p.req.Passed != 0 {
		t.Fatalf("fds = %v, passed %b, want a file, not passed", p.req.FDs, p.req.Passed)
	}
	p.started(wire.Copied, wire.Null, wire.Null)
	p.want(wire.KindStdin, "123456789")
	p.want(wire.KindStdinEOF, "")
	p.exit(wire.Exit{Outcome: wire.Exited, Consumed: 4})
	c.wantExit(0)
	if rest, _ := io.ReadAll(f); string(rest) != "56789" {
		t.Errorf("left in the file: %q, want %q", rest, "56789")
	}
}

// TestWithheldIsNoOffset checks that the mark of a stdin that was not passed on is never taken for a number of bytes. A
// file in memory has that offset.
func TestWithheldIsNoOffset(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "stdin")
	defer f.Close()
	if _, err := f.WriteAt([]byte("0123"), 0); err != nil {
		t.Fatal(err)
	}
	c.Stdin = f
	c.start()
	p := s.accept()
	p.started(wire.Copied, wire.Null, wire.Null)
	p.want(wire.KindStdin, "0123")
	p.want(wire.KindStdinEOF, "")
	p.exit(wire.Exit{Outcome: wire.Exited, Consumed: wire.Withheld})
	c.wantExit(0)
	if at, _ := f.Seek(0, io.SeekCurrent); at > 4 {
		t.Errorf("the file of 4 bytes is at %d", at)
	}
}

func TestStdinKeepsToItsCredit(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.Stdin = file(t, strings.Repeat("x", 2*wire.Window), os.O_RDONLY)
	c.start()
	p := s.accept()
	p.started(wire.Copied, wire.Null, wire.Null)
	for n := 0; n < wire.Window; {
		k, b := p.next()
		if n += len(b); k != wire.KindStdin || n > wire.Window {
			t.Fatalf("frame of kind %d after %d bytes", k, n)
		}
	}
	// Bytes beyond the credit would come before these.
	p.send(wire.KindCredit, wire.AppendCredit(nil, 10))
	p.want(wire.KindStdin, "xxxxxxxxxx")
	p.send(wire.KindCredit, wire.AppendCredit(nil, 3))
	p.want(wire.KindStdin, "xxx")
	p.exit(wire.Exit{Outcome: wire.Exited, Consumed: 7})
	c.wantExit(0)
	if at, _ := c.Stdin.(*os.File).Seek(0, io.SeekCurrent); at != 7 {
		t.Errorf("the file is at %d, want 7", at)
	}
}

func TestOutputIsCredited(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	out, errs := file(t, "", os.O_WRONLY), file(t, "", os.O_WRONLY)
	c.Stdout, c.Stderr = out, errs
	c.start()
	p := s.accept()
	p.started(wire.Null, wire.Copied, wire.Copied)
	var wantOut, wantErr bytes.Buffer
	for i := range 16 { // four windows
		k, w := wire.KindStdout, &wantOut
		if i%3 == 0 {
			k, w = wire.KindStderr, &wantErr
		}
		b := bytes.Repeat([]byte{byte('a' + i)}, wire.MaxFrame)
		w.Write(b)
		p.send(k, b)
		p.credited(wire.MaxFrame)
	}
	p.send(wire.KindStdout, []byte("tail"))
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
	for f, want := range map[*os.File]string{out: wantOut.String() + "tail", errs: wantErr.String()} {
		if got, err := os.ReadFile(f.Name()); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v, want %d", f.Name(), len(got), err, len(want))
		}
	}
}

// TestManySmallFrames sends small writes that queue up, so that one read returns many frames.
func TestManySmallFrames(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	out := file(t, "", os.O_WRONLY)
	c.Stdout, c.Stderr = out, out
	c.start()
	p := s.accept()
	p.started(wire.Null, wire.Copied, wire.Copied)
	var all []byte
	var want strings.Builder
	for i := range 5000 {
		line := strings.Repeat("x", i%90) + "\n"
		want.WriteString(line)
		all = wire.AppendFrame(all, wire.KindStdout+wire.Kind(i%2), []byte(line))
	}
	all = wire.AppendFrame(all, wire.KindExit, (&wire.Exit{Outcome: wire.Exited, Code: 1}).Append(nil))
	if _, err := p.Write(all); err != nil {
		t.Fatal(err)
	}
	c.wantExit(1)
	if got, _ := os.ReadFile(out.Name()); string(got) != want.String() {
		t.Errorf("%d bytes came, want %d, or in another order", len(got), want.Len())
	}
}

// TestStdinClosed checks that bytes after the command has closed its stdin stay for the next reader.
func TestStdinClosed(t *testing.T) {
	s := newFakeHost(t)
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := open(t, name, os.O_RDWR)
	c := s.command("make")
	c.Stdin, c.Stdout = fifo, file(t, "", os.O_WRONLY)
	c.start()
	p := s.accept()
	if p.req.FDs[0] != wire.FDOther {
		t.Fatalf("a named fifo is %v, want other", p.req.FDs[0])
	}
	p.started(wire.Copied, wire.Copied, wire.Null)
	fifo.WriteString("first")
	p.want(wire.KindStdin, "first")
	p.send(wire.KindStdinClosed, nil)
	p.send(wire.KindStdout, make([]byte, wire.MaxFrame))
	p.credited(wire.MaxFrame) // the shim has read StdinClosed by now
	fifo.WriteString("second")
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
	b := make([]byte, 20)
	syscall.SetNonblock(int(fifo.Fd()), true)
	if n, err := syscall.Read(int(fifo.Fd()), b); string(b[:max(n, 0)]) != "second" {
		t.Errorf("left in the fifo: %q, %v, want %q", b[:max(n, 0)], err, "second")
	}
}

// TestPassedAndCopied checks that the host may copy descriptors that were passed. A shim that reads an
// idle pipe must still end.
func TestPassedAndCopied(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	in, w := pipe(t)
	out, outW := pipe(t)
	c.Stdin, c.Stdout = in, outW
	c.start()
	outW.Close()
	p := s.accept()
	p.started(wire.Copied, wire.Copied, wire.Null)
	for _, f := range p.fds {
		f.Close()
	}
	w.WriteString("hello")
	p.want(wire.KindStdin, "hello")
	p.send(wire.KindStdout, []byte("world"))
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
	if b, _ := io.ReadAll(out); string(b) != "world" {
		t.Errorf("stdout = %q, want %q", b, "world")
	}
}

// TestNobodyReadsTheOutput covers make | head -1 with copied stdout: the shim and the command end by
// SIGPIPE.
func TestNobodyReadsTheOutput(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	r, w := pipe(t)
	c.Stdout = w
	c.start()
	w.Close()
	p := s.accept()
	p.started(wire.Null, wire.Copied, wire.Null)
	p.fds[0].Close()
	r.Close()
	p.send(wire.KindStdout, []byte("x"))
	p.wantGone()
	c.wantSignal(syscall.SIGPIPE)
}

func TestFullDisk(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.Stdout, c.Stderr = open(t, "/dev/full", os.O_WRONLY), file(t, "", os.O_WRONLY)
	c.start()
	p := s.accept()
	p.started(wire.Null, wire.Copied, wire.Copied)
	p.send(wire.KindStdout, []byte("x"))
	p.wantGone()
	c.wantExit(wire.CodeFailed)
	want := "hostexec: write to stdout: no space left on device\n"
	if got, _ := os.ReadFile(c.Stderr.(*os.File).Name()); string(got) != want {
		t.Errorf("stderr = %q, want %q", got, want)
	}
}

// TestNonBlockingOutput uses a non-blocking pipe, which must stay non-blocking for its owner.
func TestNonBlockingOutput(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	r, w := pipe(t)
	syscall.SetNonblock(int(w.Fd()), true)
	if _, err := fcntl(int(w.Fd()), syscall.F_SETPIPE_SZ, 4096); err != nil { // less than a frame
		t.Fatal(err)
	}
	c.Stdout = w
	c.start()
	w.Close()
	p := s.accept()
	p.started(wire.Null, wire.Copied, wire.Null)
	p.fds[0].Close()
	p.send(wire.KindStdout, make([]byte, wire.MaxFrame))
	p.exit(wire.Exit{Outcome: wire.Exited})
	if b, err := io.ReadAll(r); err != nil || len(b) != wire.MaxFrame {
		t.Errorf("%d bytes came, %v, want %d", len(b), err, wire.MaxFrame)
	}
	c.wantExit(0)
}
