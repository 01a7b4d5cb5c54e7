// SPDX-License-Identifier: Apache-2.0

// Package relay is the carrier for containers in which the sockets of this host do not work. A process in the
// container, the relay, carries the calls over the stdin and stdout of docker exec.
//
//	shim --socket in the container--> relay --chunks over docker exec--> Listener --connections--> server of calls
//
// The package does not start relays: plugin/watch/container does. The relay is a part of the shim's program, and
// shim/wire defines its messages.
package relay

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Listener accepts the calls that a relay in a container carries over one stream. Each call is a separate connection,
// which cannot pass descriptors. The container controls the other end of the stream: all numbers and lengths from
// there are untrusted.
type Listener struct {
	Nonce string // the content of the nonce file in the share; empty: the container has no share

	*carrier.Queue
}

// New returns a listener for the calls of Serve.
func New(nonce string) *Listener {
	return &Listener{Nonce: nonce, Queue: carrier.NewQueue(addr)}
}

// addr is the address of all calls.
var addr = carrier.Addr{Carrier: "relay", Listener: "relay"}

// maxCalls is the maximum number of calls of one relay at a time.
const maxCalls = 4096

// Serve accepts the calls of the relay at the other end of stream until the stream ends, and returns why it ended. When
// the relay is ready, Serve calls up. The argument of up is whether the relay claims to have reached the session's
// socket. If up returns an error, Serve ends. While writes to the stream block, Serve calls exited, which reports
// whether the relay's process has ended. When Serve returns, stream is closed, and so is the connection of every call.
func (r *Listener) Serve(stream io.ReadWriteCloser, up func(socket bool) error, exited func() bool) error {
	m := &mux{stream: stream, exited: exited, done: make(chan struct{}), calls: map[uint32]*conn{}}
	m.changed.L = &m.mu
	defer m.end()
	socket, err := r.readHello(stream)
	if err == nil {
		err = up(socket)
	}
	if err != nil {
		return err
	}
	// ends when the mux does; end waits for it.
	m.writer.Go(m.write)
	err = r.read(m)
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) { // the latter if this side noticed it
		err = errors.New("the relay has ended")
	}
	return err
}

// ErrNoHello is the error of Serve if the stream does not begin with a message.
var ErrNoHello = errors.New("read the first message of the relay")

// readHello reads the first message of the relay.
func (r *Listener) readHello(stream io.Reader) (socket bool, err error) {
	call, b, err := readChunk(stream, make([]byte, wire.MaxChunk))
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNoHello, err)
	}
	hello, err := wire.ParseHello(b)
	switch {
	case call != 0 && err == nil:
		err = wire.ErrMalformed
	case err == nil && hello.Failed != "":
		err = fmt.Errorf("the relay says %+q", hello.Failed)
	case err == nil && hello.Nonce != r.Nonce:
		err = errors.New("the container's share belongs to another session")
	}
	return hello.Socket, err
}

// read reads the chunks of all calls.
func (r *Listener) read(m *mux) error {
	buf := make([]byte, wire.MaxChunk)
	var last uint32
	for {
		call, b, err := readChunk(m.stream, buf)
		if err != nil {
			return err
		}
		if call <= last {
			m.deliver(call, b) // dropped if the call has ended
			continue
		}
		last = call
		if len(b) == 0 {
			continue // the caller hung up at once
		}
		c, err := m.open(call)
		if err != nil {
			return err
		}
		if !r.Offer(c, m.done) {
			return net.ErrClosed
		}
		c.put(b)
	}
}

// readChunk reads one chunk into buf, which is large enough for any.
func readChunk(stream io.Reader, buf []byte) (call uint32, b []byte, err error) {
	if _, err := io.ReadFull(stream, buf[:wire.ChunkHeaderLen]); err != nil {
		return 0, nil, err
	}
	call, n, err := wire.ParseChunk(buf)
	if err != nil {
		return 0, nil, err
	}
	if _, err := io.ReadFull(stream, buf[:n]); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return call, buf[:n], nil
}
