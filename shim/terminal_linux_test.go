// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/creack/pty"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// tty is a terminal. The test has the master, the shim has the slave.
type tty struct {
	t            *testing.T
	master, line *os.File
	seen         string
}

func newTTY(t *testing.T) *tty {
	t.Helper()
	master, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); line.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Rows: 30, Cols: 90}); err != nil {
		t.Fatal(err)
	}
	return &tty{t: t, master: master, line: line}
}

// on starts c on the terminal, as session leader.
func (y *tty) on(c *shim) *shim {
	c.Stdin, c.Stdout, c.Stderr = y.line, y.line, y.line
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return c.start()
}

func (y *tty) keys(s string) {
	y.t.Helper()
	if _, err := y.master.WriteString(s); err != nil {
		y.t.Fatal(err)
	}
}

// shows waits until want is on the screen.
func (y *tty) shows(want string) {
	y.t.Helper()
	y.master.SetReadDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 1024)
	for !strings.Contains(y.seen, want) {
		n, err := y.master.Read(b)
		y.seen += string(b[:n])
		if err != nil {
			y.t.Fatalf("screen = %q, %v, want %q on it", y.seen, err, want)
		}
	}
	_, y.seen, _ = strings.Cut(y.seen, want)
}

func (y *tty) termios() (t syscall.Termios) {
	y.t.Helper()
	if err := ioctl(int(y.line.Fd()), syscall.TCGETS, unsafe.Pointer(&t)); err != nil {
		y.t.Fatal(err)
	}
	return t
}

func (y *tty) wantRaw(want bool) {
	y.t.Helper()
	if got := y.termios().Lflag&syscall.ICANON == 0; got != want {
		y.t.Errorf("raw = %v, want %v", got, want)
	}
}

func (y *tty) resize(rows, cols uint16) {
	y.t.Helper()
	if err := pty.Setsize(y.master, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		y.t.Fatal(err)
	}
}

func size(rows, cols uint16) string {
	return string(wire.Winsize{Rows: rows, Cols: cols}.Append(nil))
}

func TestTerminal(t *testing.T) {
	s, y := newFakeHost(t), newTTY(t)
	before := y.termios()
	c := y.on(s.command("vi"))
	p := s.accept()
	if want := [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDTTY}; p.req.FDs != want || p.req.Passed != 0 {
		t.Fatalf("fds = %v, passed %b, want terminals, none passed", p.req.FDs, p.req.Passed)
	}
	if want := (wire.Winsize{Rows: 30, Cols: 90}); p.req.Winsize != want {
		t.Errorf("size = %v, want %v", p.req.Winsize, want)
	}
	y.wantRaw(false) // until Started
	y.resize(31, 91)
	p.started(wire.PTY, wire.PTY, wire.PTY)
	wantSize(p, size(31, 91))
	y.wantRaw(true)

	y.keys("\x03x\r")
	wantKeys(p, "\x03x\r")
	p.send(wire.KindStdout, []byte("one\ntwo"))
	y.shows("one\ntwo")
	p.send(wire.KindNotice, []byte("hostexec: hello\n"))
	y.shows("hostexec: hello\r\n")

	listening(t, c.Process.Pid)
	y.resize(40, 100)
	wantSize(p, size(40, 100))
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 4, Text: "bye\n"})
	c.wantExit(4)
	y.shows("bye\r\n") // not raw any more by then
	if y.termios() != before {
		t.Errorf("the terminal is left as %+v, want %+v", y.termios(), before)
	}
}

func TestTerminalIsRestored(t *testing.T) {
	tests := []struct {
		name string
		end  func(p *peer)
	}{
		{"the host is gone", func(p *peer) { p.Close() }},
		{"nonsense", func(p *peer) { p.send(99, nil) }},
		{"killed", func(p *peer) { p.exit(wire.Exit{Outcome: wire.Signaled, Signal: "KILL", Code: 137}) }},
	}
	for _, tt := range tests {
		s, y := newFakeHost(t), newTTY(t)
		c := y.on(s.command("vi"))
		p := s.accept()
		p.started(wire.PTY, wire.PTY, wire.PTY)
		p.want(wire.KindWinsize, size(30, 90))
		y.wantRaw(true)
		tt.end(p)
		c.status()
		t.Log(tt.name)
		y.wantRaw(false)
	}
}

// TestStopAndForeground covers ^Z and fg. The shell must see its job stop and have a normal terminal
// meanwhile. After fg, the terminal must be raw again.
func TestStopAndForeground(t *testing.T) {
	s, y := newFakeHost(t), newTTY(t)
	y.on(s.sh(`set -m; $SHIM; echo stopped $?; stty -a | grep -q ' icanon' && echo cooked; read x; fg; echo ended $?`))
	p := s.accept()
	p.started(wire.PTY, wire.PTY, wire.PTY)
	p.want(wire.KindWinsize, size(30, 90))
	p.send(wire.KindStopped, nil)
	y.shows("stopped 148") // 128 + SIGTSTP
	y.shows("cooked")
	y.resize(31, 91)
	y.keys("\n")
	wantSize(p, size(31, 91))
	p.wantSignal("CONT", wire.ToGroup) // once: the signal that continued the shim is not forwarded too
	y.wantRaw(true)
	y.keys("q")
	wantKeys(p, "q")
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 3})
	y.shows("ended 3")
}

// wantSize reads frames until the given size. A size may be sent twice: when the shim comes to the
// foreground, and later for the signal of that change.
func wantSize(p *peer, size string) {
	p.t.Helper()
	for {
		switch k, b := p.next(); {
		case k != wire.KindWinsize:
			p.t.Fatalf("frame = %d %q, want a size", k, b)
		case string(b) == size:
			return
		}
	}
}

// wantKeys reads until all keys have arrived, in any number of frames, and skips other frames.
func wantKeys(p *peer, want string) {
	p.t.Helper()
	for got := ""; got != want; {
		if k, b := p.next(); k == wire.KindStdin {
			if got += string(b); !strings.HasPrefix(want, got) {
				p.t.Fatalf("keys = %q, want %q", got, want)
			}
		}
	}
}

// TestBackground checks that a background shim does not change or read the terminal. fg sends CONT to a
// running job in some shells and not in others.
func TestBackground(t *testing.T) {
	s, y := newFakeHost(t), newTTY(t)
	y.on(s.sh(`set -m; $SHIM & read x; echo got $x; fg; echo ended $?`))
	p := s.accept()
	p.started(wire.PTY, wire.PTY, wire.PTY)
	p.send(wire.KindStdout, []byte("hello"))
	y.shows("hello")
	y.wantRaw(false)
	y.keys("mine\n")
	y.shows("got mine")
	p.want(wire.KindWinsize, size(30, 90)) // the shim is in the foreground now
	y.wantRaw(true)
	y.keys("yours")
	wantKeys(p, "yours")
	p.exit(wire.Exit{Outcome: wire.Exited})
	y.shows("ended 0")
}

// TestTerminalAmongPipes covers make | less: a terminal beside pipes is passed unchanged.
func TestTerminalAmongPipes(t *testing.T) {
	s, y := newFakeHost(t), newTTY(t)
	c := s.command("make")
	_, w := pipe(t)
	c.Stdin, c.Stdout, c.Stderr = y.line, w, y.line
	c.start()
	p := s.accept()
	if want := [3]wire.FD{wire.FDTTY, wire.FDPipe, wire.FDTTY}; p.req.FDs != want || p.req.Passed != 7 {
		t.Errorf("fds = %v, passed %b, want %v and all", p.req.FDs, p.req.Passed, want)
	}
	p.started(wire.Taken, wire.Taken, wire.Taken)
	y.wantRaw(false)
	p.exit(wire.Exit{Outcome: wire.Exited})
	c.wantExit(0)
}

// TestDevTTY checks that /dev/tty is copied, because it would be another terminal on the host.
func TestDevTTY(t *testing.T) {
	s, y := newFakeHost(t), newTTY(t)
	y.on(s.sh(`$SHIM < /dev/tty > /dev/null 2>&1; echo ended $?`))
	p := s.accept()
	if want := [3]wire.FD{wire.FDOther}; p.req.FDs != want || p.req.Passed != 0 {
		t.Errorf("fds = %v, passed %b, want %v and none", p.req.FDs, p.req.Passed, want)
	}
	p.started(wire.Copied, wire.Null, wire.Null)
	y.keys("line\n")
	p.want(wire.KindStdin, "line\n")
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 2})
	y.shows("ended 2")
}
