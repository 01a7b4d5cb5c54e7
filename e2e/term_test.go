// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Term is a terminal in which docker exec -it runs a program of a container: what is
// typed reaches it as keys, what it shows is waited for.
type Term struct {
	tty  *os.File
	show chan string // what the terminal shows, in pieces
	seen string      // shown, but not expected yet
	end  chan int

	resize bool // docker may not have been told of a new size
}

// Term starts a program of the container in a terminal of 24 lines and 80 columns.
func (c *Container) Term(t testing.TB, args ...string) *Term {
	t.Helper()
	return c.Host.term(t, append([]string{"docker"}, c.execArgs([]string{"-it"}, args...)...)...)
}

// sized is a script that goes on when the terminal has $0 lines and $1 columns: docker
// gives the container's terminal its size after the program in it has begun.
const sized = `until [ "$(stty size)" = "$0 $1" ]; do :; done; `

// Shell starts an interactive bash, with job control, in a terminal, and waits for its
// prompt, which is "ready> ".
func (c *Container) Shell(t testing.TB) *Term {
	t.Helper()
	m := c.Term(t, "bash", "-c", sized+`export PS1="ready> "; exec bash --norc --noprofile --noediting -i`, "24", "80")
	m.Expect(t, "ready> ")
	return m
}

// term starts a command of the person's in a terminal.
func (h *Host) term(t testing.TB, argv ...string) *Term {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr.Setpgid = false // pty.Start makes a session, which is a group already
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		cancel()
		t.Fatalf("%q: %v", argv, err)
	}
	m := &Term{tty: tty, show: make(chan string, 1024), end: make(chan int, 1)}
	done := make(chan struct{})
	// ends with the command; the cleanup waits for it.
	go func() { defer close(done); m.follow(cmd) }()
	t.Cleanup(func() { cancel(); <-done; tty.Close() })
	return m
}

// follow reads what is shown until nobody has the terminal any more.
func (m *Term) follow(cmd *exec.Cmd) {
	defer close(m.show)
	buf := make([]byte, 32<<10)
	for {
		n, err := m.tty.Read(buf)
		if n > 0 {
			m.show <- string(buf[:n])
		}
		if err != nil {
			break
		}
	}
	cmd.Wait() // the code tells
	m.end <- exitCode(cmd.ProcessState)
}

// Type types keys.
func (m *Term) Type(t testing.TB, keys string) {
	t.Helper()
	_, err := io.WriteString(m.tty, keys)
	check(t, err)
}

// Expect waits until the terminal has shown text and returns what it showed up to there.
func (m *Term) Expect(t testing.TB, text string) string {
	t.Helper()
	late := time.After(patience)
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		if before, after, ok := strings.Cut(m.seen, text); ok {
			m.seen, m.resize = after, false
			return before + text
		}
		select {
		case <-again.C:
			if m.resize {
				check(t, syscall.Kill(-m.foreground(t), syscall.SIGWINCH))
			}
		case s, ok := <-m.show:
			if !ok {
				t.Fatalf("the terminal is gone; it never showed %q, but %q", text, clip(m.seen))
			}
			m.seen += s
		case <-late:
			t.Fatalf("the terminal never showed %q, but %q", text, clip(m.seen))
		}
	}
}

// Do types a line to the Shell and returns what the terminal shows until its next prompt.
func (m *Term) Do(t testing.TB, line string) string {
	t.Helper()
	m.Type(t, line+"\r")
	m.Expect(t, line+"\r\n")
	return strings.TrimSuffix(m.Expect(t, "ready> "), "ready> ")
}

// Exit leaves the Shell.
func (m *Term) Exit(t testing.TB) {
	t.Helper()
	m.Type(t, "exit 0\r")
	want(t, "code of the shell", m.Wait(t), 0)
}

// Resize changes the terminal's size, as dragging its window does. docker misses that if
// it has not begun to listen, so the next Expect tells it again until it is satisfied.
func (m *Term) Resize(t testing.TB, rows, cols uint16) {
	t.Helper()
	check(t, pty.Setsize(m.tty, &pty.Winsize{Rows: rows, Cols: cols}))
	m.resize = true
}

// foreground returns the terminal's foreground process group, to which the kernel signals a new size.
func (m *Term) foreground(t testing.TB) int {
	t.Helper()
	conn, err := m.tty.SyscallConn()
	check(t, err)
	var pgrp int
	var failed error
	check(t, conn.Control(func(fd uintptr) { pgrp, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) }))
	check(t, failed)
	return pgrp
}

// Wait waits for the program's end and returns its code.
func (m *Term) Wait(t testing.TB) int {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case s, ok := <-m.show:
			if !ok {
				return <-m.end
			}
			m.seen += s
		case <-late:
			t.Fatalf("the program in the terminal did not end; it shows %q", clip(m.seen))
		}
	}
}

// newScanner reads lines of up to 4 MiB.
func newScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 4<<20)
	return s
}
