// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"sync"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// host is the connection to the host. The host reads everything, so a write waits at most for the frame
// before it. Therefore it needs neither a queue nor a goroutine.
type host struct {
	fd int
	mu sync.Mutex // held while a frame is written
}

// send sends a small frame. It ignores errors: the reader notices a closed connection.
func (h *host) send(k wire.Kind, payload []byte) {
	var b [wire.HeaderLen + 16]byte
	h.write(wire.AppendFrame(b[:0], k, payload))
}

// write sends a complete frame.
func (h *host) write(frame []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return writeAll(h.fd, frame)
}

// frameReader parses the host's frames. A payload is valid until the next call of next. It is not copied:
// output goes from this buffer to its descriptor.
type frameReader struct {
	fd   int
	buf  []byte
	r, w int // buf[r:w] is read and not yet parsed
}

const (
	smallBuffer = 1 << 10                              // for Started and Exit
	largeBuffer = 2 * (wire.HeaderLen + wire.MaxFrame) // for copied output
)

// next returns the next frame. At the end of the stream it returns errGone, even within a frame.
func (in *frameReader) next() (wire.Kind, []byte, error) {
	if err := in.fill(wire.HeaderLen); err != nil {
		return 0, nil, err
	}
	k, n, err := wire.ParseHeader(in.buf[in.r:in.w])
	if err != nil {
		return 0, nil, err
	}
	if n > wire.MaxFrame {
		return 0, nil, wire.ErrTooLong
	}
	if err := in.fill(wire.HeaderLen + n); err != nil {
		return 0, nil, err
	}
	p := in.buf[in.r+wire.HeaderLen : in.r+wire.HeaderLen+n]
	in.r += wire.HeaderLen + n
	return k, p, nil
}

// fill reads until n bytes are available.
func (in *frameReader) fill(n int) error {
	if in.r == in.w {
		in.r, in.w = 0, 0
	}
	if in.r+n > len(in.buf) {
		in.grow(n)
	}
	for in.w-in.r < n {
		m, err := syscall.Read(in.fd, in.buf[in.w:])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case m == 0:
			return errGone
		default:
			in.w += m
		}
	}
	return nil
}

// grow makes space for n bytes from r on.
func (in *frameReader) grow(n int) {
	buf := in.buf
	switch {
	case n <= len(buf):
	case n <= smallBuffer:
		buf = make([]byte, smallBuffer)
	default:
		buf = make([]byte, largeBuffer)
	}
	in.w = copy(buf, in.buf[in.r:in.w])
	in.r, in.buf = 0, buf
}

// errGone is the error for the end of the connection.
const errGone = wire.Error("connection closed")
