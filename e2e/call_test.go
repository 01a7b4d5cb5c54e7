// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Call is a program that runs in a container.
type Call struct {
	PID int // in the container; it stays the same through exec
	In  io.WriteCloser

	c     *Container
	lines chan string // of stdout, without the newline
	errs  bytes.Buffer
	end   chan int // the code, once
}

// Start starts a program in the container. Its stdin stays open until the caller closes
// In; its stdout is read by Line.
func (c *Container) Start(t testing.TB, args ...string) *Call {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	argv := append([]string{"bash", "-c", `echo $$; exec "$@"`, "bash"}, args...)
	cmd := c.Host.Command(ctx, "docker", c.execArgs([]string{"-i"}, argv...)...)
	call := &Call{c: c, lines: make(chan string, 4096), end: make(chan int, 1)}
	cmd.Stderr = &call.errs
	in, err := cmd.StdinPipe()
	check(t, err)
	call.In = in
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	done := make(chan struct{})
	// ends with the program; the cleanup waits for it.
	go func() { defer close(done); call.follow(cmd, out) }()
	t.Cleanup(func() { cancel(); <-done })
	pid := call.Line(t)
	if call.PID, err = strconv.Atoi(pid); err != nil {
		t.Fatalf("start %q: %v", args, err)
	}
	return call
}

// follow reads the program's lines to their end and takes its code.
func (call *Call) follow(cmd *exec.Cmd, out io.Reader) {
	defer close(call.lines)
	scan := newScanner(out)
	for scan.Scan() {
		call.lines <- scan.Text()
	}
	cmd.Wait() // the code tells
	call.end <- exitCode(cmd.ProcessState)
}

// Line returns the program's next line of stdout.
func (call *Call) Line(t testing.TB) string {
	t.Helper()
	select {
	case line, ok := <-call.lines:
		if !ok {
			t.Fatalf("the program ended before its next line; stderr %q", call.errs.String())
		}
		return line
	case <-time.After(patience):
		t.Fatal("no line came from the program")
	}
	return ""
}

// Host takes hold of the host process whose number the program prints as its next line.
func (call *Call) Host(t testing.TB) *Proc {
	t.Helper()
	line := call.Line(t)
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the program printed %q, not the number of a host process", line)
	}
	return hold(t, pid)
}

// Signal sends a signal, by name, to the program in the container.
func (call *Call) Signal(t testing.TB, name string) {
	t.Helper()
	c := call.c.As("0")
	if r := c.Exec(t, "bash", "-c", "kill -"+name+" "+strconv.Itoa(call.PID)); r.Code != 0 {
		t.Fatalf("kill -%s: %v", name, r)
	}
}

// Wait closes stdin and returns the rest of stdout, stderr, and the code.
func (call *Call) Wait(t testing.TB) Result {
	t.Helper()
	call.In.Close()
	return call.Ended(t)
}

// Ended waits for the program's end without closing its stdin.
func (call *Call) Ended(t testing.TB) Result {
	t.Helper()
	var r Result
	late := time.After(patience)
	for {
		select {
		case line, ok := <-call.lines:
			if ok {
				r.Out += line + "\n"
				continue
			}
			r.Code, r.Err = <-call.end, call.errs.String()
			return r
		case <-late:
			t.Fatalf("the program did not end; stdout so far %q", r.Out)
		}
	}
}
