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

// tty is a terminal: the test has the screen and the keyboard, the shim the line.
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

// on puts c on the terminal, as the leader of its session.
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
	s, y := newStage(t), newTTY(t)
	before := y.termios()
	c := y.on(s.command("vi"))
	p := s.accept()
	if want := [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDTTY}; p.req.FDs != want || p.req.Passed != 0 {
		t.Fatalf("fds = %v, passed %b, want terminals, none passed", p.req.FDs, p.req.Passed)
	}
	if want := (wire.Winsize{Rows: 30, Cols: 90}); p.req.Winsize != want {
		t.Errorf("size = %v, want %v", p.req.Winsize, want)
	}
	y.wantRaw(false) // until it is allowed
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
	y.shows("bye\r\n") // cooked again before that
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
		s, y := newStage(t), newTTY(t)
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

// ^Z and fg: the shell must see its job stop, have a sane terminal meanwhile, and give
// back one that is raw again.
func TestStopAndForeground(t *testing.T) {
	s, y := newStage(t), newTTY(t)
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
	p.wantSignal("CONT", wire.ToGroup) // once: what continued the shim is not forwarded as well
	y.wantRaw(true)
	y.keys("q")
	wantKeys(p, "q")
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 3})
	y.shows("ended 3")
}

// wantSize reads up to the size. One that was told when the shim came to the front is told
// again when the signal of that change arrives, which may be late.
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

// wantKeys reads until all have come, in however many pieces, over what else goes on.
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

// In the background the terminal is the shell's: not raw, not read. Some shells send
// CONT with fg to a job that runs, some do not.
func TestBackground(t *testing.T) {
	s, y := newStage(t), newTTY(t)
	y.on(s.sh(`set -m; $SHIM & read x; echo got $x; fg; echo ended $?`))
	p := s.accept()
	p.started(wire.PTY, wire.PTY, wire.PTY)
	p.send(wire.KindStdout, []byte("hello"))
	y.shows("hello")
	y.wantRaw(false)
	y.keys("mine\n")
	y.shows("got mine")
	p.want(wire.KindWinsize, size(30, 90)) // it has come to the front
	y.wantRaw(true)
	y.keys("yours")
	wantKeys(p, "yours")
	p.exit(wire.Exit{Outcome: wire.Exited})
	y.shows("ended 0")
}

// make | less: a terminal among pipes is passed as it is.
func TestTerminalAmongPipes(t *testing.T) {
	s, y := newStage(t), newTTY(t)
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

// /dev/tty would be another terminal at the host's: it is pumped.
func TestDevTTY(t *testing.T) {
	s, y := newStage(t), newTTY(t)
	y.on(s.sh(`$SHIM < /dev/tty > /dev/null 2>&1; echo ended $?`))
	p := s.accept()
	if want := [3]wire.FD{wire.FDOther}; p.req.FDs != want || p.req.Passed != 0 {
		t.Errorf("fds = %v, passed %b, want %v and none", p.req.FDs, p.req.Passed, want)
	}
	p.started(wire.Pumped, wire.Null, wire.Null)
	y.keys("line\n")
	p.want(wire.KindStdin, "line\n")
	p.exit(wire.Exit{Outcome: wire.Exited, Code: 2})
	y.shows("ended 2")
}
