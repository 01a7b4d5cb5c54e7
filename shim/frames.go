// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"sync"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// host is the way to the host. The host reads whatever comes, so a write waits no longer
// than the frame before it takes; that is why it needs neither a queue nor a goroutine.
type host struct {
	fd int
	mu sync.Mutex // one frame at a time; guards nothing else
}

// send sends a small frame. That the host is gone is noticed by who reads from it.
func (h *host) send(k wire.Kind, payload []byte) {
	var b [wire.HeaderLen + 16]byte
	h.write(wire.AppendFrame(b[:0], k, payload))
}

// write sends a frame that has been put together already.
func (h *host) write(frame []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return writeAll(h.fd, frame)
}

// incoming takes the host's frames apart. A payload is valid until the next frame, and
// is not copied: what is pumped goes from this buffer to its descriptor.
type incoming struct {
	fd   int
	buf  []byte
	r, w int // buf[r:w] has been read and not been taken
}

const (
	smallBuffer = 1 << 10                              // Started, Exit
	largeBuffer = 2 * (wire.HeaderLen + wire.MaxFrame) // when output is pumped
)

// next returns the next frame. The end of the stream is errGone, wherever it comes.
func (in *incoming) next() (wire.Kind, []byte, error) {
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

// fill reads until n bytes are there.
func (in *incoming) fill(n int) error {
	if in.r == in.w {
		in.r, in.w = 0, 0
	}
	if in.r+n > len(in.buf) {
		in.room(n)
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

// room makes place for n bytes from r on.
func (in *incoming) room(n int) {
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

// errGone is the end of the connection.
const errGone = wire.Error("connection closed")
