// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package executor

import (
	"context"
	"io"
	"os"
	"testing"
)

// What only Linux's own calls can do.

// terminals are those that commands can have.
var terminals = []*Winsize{nil, {24, 80, 0, 0}}

const (
	noNewPrivs = "1"
	signals    = "SigBlk|SigIgn" // that are none
	cleared    = "env -i "       // an orphan is found by its parent all the same
)

// The caller is told when the command closes its stdin, and the command goes on.
func TestStdinClosedEarly(t *testing.T) {
	h := newHost(t)
	in, w := io.Pipe()
	closed := make(chan struct{})
	out := newScreen()
	s := none()
	s.In, s.Out = in, out
	s.InClosed = func() { close(closed) }
	end := make(chan result, 1)
	name := fifo(t)
	// ends when the command has; the test takes its value.
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
