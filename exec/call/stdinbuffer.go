// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"io"
	"sync"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

var errCredit = errors.New("more bytes of stdin than the credit")

// input is stdin between the reader of frames, which never waits, and the writer to the command, which does. It holds
// at most wire.Window bytes, and no memory while it is empty.
type input struct {
	giveCredit func(n int) // lets the shim send n bytes more

	mu         sync.Mutex // guards the fields below
	more       sync.Cond
	buf        []byte
	uncredited int // read, but not yet reported by giveCredit
	ended      bool
	closed     bool
}

func newInput(giveCredit func(int)) *input {
	in := &input{giveCredit: giveCredit}
	in.more.L = &in.mu
	return in
}

// put queues b. After Close it drops b: the shim may not know yet that stdin is closed.
func (in *input) put(b []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		return nil
	case in.ended:
		return errors.New("stdin goes on after its end")
	case len(in.buf)+in.uncredited+len(b) > wire.Window:
		return errCredit
	}
	in.buf = append(in.buf, b...)
	in.more.Broadcast()
	return nil
}

// end marks the end of the data.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.more.Broadcast()
}

// Read implements io.Reader; it gives the shim credit for the bytes that were read.
func (in *input) Read(p []byte) (int, error) {
	n, credited, err := in.take(p)
	if credited > 0 {
		in.giveCredit(credited)
	}
	return n, err
}

func (in *input) take(p []byte) (n, credited int, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.buf) == 0 && !in.ended && !in.closed {
		in.more.Wait()
	}
	if in.closed {
		return 0, 0, io.ErrClosedPipe
	}
	if len(in.buf) == 0 {
		return 0, 0, io.EOF
	}
	n = copy(p, in.buf)
	in.buf = in.buf[n:]
	in.uncredited += n
	if len(in.buf) == 0 {
		in.buf = nil
	}
	// Credit for each small read would be a frame for each: wait for a quarter.
	if in.uncredited >= wire.Window/4 {
		credited, in.uncredited = in.uncredited, 0
	}
	return n, credited, nil
}

// Close implements io.Closer: a Read that waits returns at once.
func (in *input) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.buf = true, nil
	in.more.Broadcast()
	return nil
}
