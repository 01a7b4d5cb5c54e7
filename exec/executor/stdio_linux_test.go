// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

func TestPumped(t *testing.T) {
	h := newHost(t)
	want := make([]byte, 1<<20)
	rand.Read(want)
	for _, script := range []string{"cat", "cat >&2", "dd bs=1000 status=none"} {
		var out, errs bytes.Buffer
		s := none()
		s.In, s.Out, s.Err = io.NopCloser(bytes.NewReader(want)), &out, &errs
		st, err := h.Run(context.Background(), sh(t, script), s)
		if err != nil || st != (Status{Consumed: 1 << 20}) {
			t.Errorf("%s: %+v, %v, want %d bytes consumed", script, st, err, 1<<20)
		}
		if !bytes.Equal(append(out.Bytes(), errs.Bytes()...), want) {
			t.Errorf("%s: %d and %d bytes came out, not those of stdin", script, out.Len(), errs.Len())
		}
	}
}

func TestSeparate(t *testing.T) {
	out, errs, _ := output(t, newHost(t), sh(t, "echo out; echo err >&2"))
	if out != "out\n" || errs != "err\n" {
		t.Errorf("stdout %q, stderr %q, want out and err", out, errs)
	}
}

func TestSameOut(t *testing.T) {
	h := newHost(t)
	var out bytes.Buffer
	s := none()
	s.Out, s.SameOut = &out, true
	if _, err := h.Run(context.Background(), sh(t, "i=0; while [ $i -lt 500 ]; do echo $i; echo $i >&2; i=$((i+1)); done"), s); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 500 {
		want.WriteString(strings.Repeat(strconv.Itoa(i)+"\n", 2))
	}
	if out.String() != want.String() {
		t.Error("the order of 1 and 2 is not that of the command")
	}
}

func TestConsumed(t *testing.T) {
	h := newHost(t)
	small, large := strings.Repeat("0123456\n", 100), strings.Repeat("0123456\n", 100_000)
	tests := []struct {
		name, script, in string
		want             uint64
	}{
		{"nothing", ":", small, 0},
		{"one line", "read x", small, 8}, // sh reads byte by byte
		{"three lines", "read x; read x; read x", small, 24},
		{"three lines of more than a pipe holds", "read x; read x; read x", large, 24},
		{"everything", "cat", small, 800},
		{"everything of more than a pipe holds", "cat", large, 800_000},
		{"a block", "dd bs=100 count=1 status=none", large, 100},
		{"left to a child that dies with it", "read x; exec dd bs=8 count=1 status=none", large, 16},
	}
	for _, tt := range tests {
		s := none()
		s.In, s.Out = io.NopCloser(strings.NewReader(tt.in)), io.Discard
		st, err := h.Run(context.Background(), sh(t, tt.script), s)
		if err != nil || st.Consumed != tt.want {
			t.Errorf("%s: consumed %d, %v, want %d", tt.name, st.Consumed, err, tt.want)
		}
	}
}

// TestIdleStdin checks that an open, silent stdin does not delay Run.
func TestIdleStdin(t *testing.T) {
	run := launch(t, newHost(t), sh(t, "exit 4"), nil)
	if st, err := run.wait(t); st.Code != 4 || err != nil {
		t.Errorf("Run = %+v, %v, want 4", st, err)
	}
	if _, err := run.in.Write([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("In is not closed: %v", err)
	}
}

// TestStdinClosedEarly checks that the caller is notified when the command closes its stdin, and
// that the command continues.
func TestStdinClosedEarly(t *testing.T) {
	h := newHost(t)
	in, w := io.Pipe()
	closed := make(chan struct{})
	out := newScreen()
	s := none()
	s.In, s.Out = in, out
	s.InClosed = func() { close(closed) }
	end := make(chan result, 1)
	name := exectest.FIFO(t)
	// ends when the command has; the test receives its value.
	go func() {
		st, err := h.Run(context.Background(), sh(t, "exec <&-; echo closed; : > $0; exit 5", name), s)
		end <- result{st, err}
	}()
	out.expect(t, "closed\n")
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-closed
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if r := <-end; r.st != (Status{Code: 5}) || r.err != nil {
		t.Errorf("Run = %+v, %v, want exit 5, nothing consumed", r.st, r.err)
	}
}

// TestPassed checks that a passed descriptor is the command's own: the same pipe, not a copy.
func TestPassed(t *testing.T) {
	h := newHost(t)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	s := none()
	s.FD[1] = p[1]
	s.Started = func(int) { unix.Close(p[1]) }
	var errs bytes.Buffer
	s.Err = &errs
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p[1]))
	if err != nil {
		t.Fatal(err)
	}
	st, err := h.Run(context.Background(), sh(t, "l=$(readlink /proc/$$/fd/1); echo $l >&2; echo x"), s)
	if st != (Status{}) || err != nil {
		t.Errorf("Run = %+v, %v, want 0", st, err)
	}
	if errs.String() != link+"\n" {
		t.Errorf("the command's 1 is %q, want %q", errs.String(), link)
	}
	if flags, err := unix.FcntlInt(uintptr(p[0]), unix.F_GETFL, 0); flags&unix.O_NONBLOCK == 0 {
		t.Errorf("the passed pipe lost O_NONBLOCK, %v", err)
	}
	buf := make([]byte, 8)
	if n, err := unix.Read(p[0], buf); string(buf[:max(n, 0)]) != "x\n" {
		t.Errorf("the pipe holds %q, %v", buf[:max(n, 0)], err)
	}
	if n, err := unix.Read(p[0], buf); n != 0 || err != nil {
		t.Errorf("somebody still holds the pipe: %d, %v", n, err)
	}
}

var errReader = errors.New("the reader left")

type closingWriter struct{ after int }

func (l *closingWriter) Write(b []byte) (int, error) {
	if l.after -= len(b); l.after < 0 {
		return 0, errReader
	}
	return len(b), nil
}

// TestReaderLeaves checks that a command whose reader fails gets SIGPIPE, as with head(1).
func TestReaderLeaves(t *testing.T) {
	s := none()
	s.Out = &closingWriter{after: 100 << 10}
	c := sh(t, "")
	c.Path, c.Args = "/usr/bin/yes", []string{"yes"}
	st, err := newHost(t).Run(context.Background(), c, s)
	if st != (Status{Code: 141, Signal: "PIPE"}) || err != nil {
		t.Errorf("Run = %+v, %v, want PIPE", st, err)
	}
}

// TestLeftBehind checks that processes left behind keep their descriptors, and that Run does not
// wait for them.
//
// Attack 153.
func TestLeftBehind(t *testing.T) {
	scripts := map[string]string{
		"silent":             "exec 3<>$0; (read x <&3; echo again; echo alive > $1) & echo hi",
		"in a session":       "exec 3<>$0; setsid sh -c 'read x <&3; echo again; echo alive > $0' $1 & echo hi",
		"writes for ever":    "exec 3<>$0; yes & (read x <&3; kill $!; echo alive > $1) & echo hi",
		"writes a lot after": "exec 3<>$0; (read x <&3; head -c 1000000 /dev/zero; echo alive > $1) & echo hi",
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			wake, alive := exectest.FIFO(t), exectest.FIFO(t)
			out, _, st := output(t, h, sh(t, script, wake, alive))
			if !strings.Contains(out, "hi\n") || st.Code != 0 {
				t.Errorf("output %.20q, %+v, want hi", out, st)
			}
			if err := os.WriteFile(wake, []byte("\n"), 0); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(alive)
			if string(got) != "alive\n" || err != nil {
				t.Errorf("the child that was left says %q, %v, want alive", got, err)
			}
		})
	}
}

// TestNothingLost checks that all output of a command arrives before its status, at any speed of
// the caller.
func TestNothingLost(t *testing.T) {
	h := newHost(t)
	for i := range 50 {
		n := i * 1500
		out, _, _ := output(t, h, sh(t, "head -c $0 /dev/zero; sleep 1000 >&- 2>&- & :", strconv.Itoa(n)))
		if len(out) != n {
			t.Errorf("%d bytes came, want %d", len(out), n)
		}
	}
}
