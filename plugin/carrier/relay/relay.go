// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Listener is the calls that a relay in a container carries over one stream. Each of them is
// a connection of its own, over which no descriptors come. The other end of the stream is
// the container's, and so are all numbers and lengths that come from there.
type Listener struct {
	Nonce string // what the relay has to read in the share; empty: it has no share of ours

	calls chan net.Conn
	done  chan struct{} // closed by Close
	close sync.Once
}

// New returns a listener to which Serve brings the calls.
func New(nonce string) *Listener {
	return &Listener{Nonce: nonce, calls: make(chan net.Conn), done: make(chan struct{})}
}

// Accept returns the next call.
func (r *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-r.calls:
		return c, nil
	case <-r.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. Streams and calls are closed by those who have them.
func (r *Listener) Close() error {
	r.close.Do(func() { close(r.done) })
	return nil
}

// Addr returns an address that says no more than that it is a relay.
func (r *Listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "relay" }
func (addr) String() string  { return "relay" }

// maxCalls is how many calls one relay may carry at a time.
const maxCalls = 4096

// Serve takes the calls of the relay at the other end of stream until that ends, and says
// why it did. When the relay has said that it is ready it calls up, with whether the relay
// claims to have reached the session's socket; an error of up ends it all. exited reports
// whether the relay's process has ended: it is asked while the stream takes nothing. When Serve
// returns, stream is closed and every call of it is at its end.
func (r *Listener) Serve(stream io.ReadWriteCloser, up func(socket bool) error, exited func() bool) error {
	l := &link{stream: stream, exited: exited, over: make(chan struct{}), calls: map[uint32]*conn{}}
	l.more.L = &l.mu
	defer l.end()
	socket, err := r.readHello(stream)
	if err == nil {
		err = up(socket)
	}
	if err != nil {
		return err
	}
	// ends when the link does; end waits for it.
	l.writer.Go(l.write)
	err = r.read(l)
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) { // the latter where it was noticed here
		err = errors.New("the relay has ended")
	}
	return err
}

// readHello reads what the relay says of itself.
func (r *Listener) readHello(stream io.Reader) (socket bool, err error) {
	call, b, err := readChunk(stream, make([]byte, wire.MaxChunk))
	if err != nil {
		return false, fmt.Errorf("hear of the relay: %w", err)
	}
	hello, err := wire.ParseHello(b)
	switch {
	case call != 0 && err == nil:
		err = wire.ErrMalformed
	case err == nil && hello.Failed != "":
		err = fmt.Errorf("the relay says %+q", hello.Failed)
	case err == nil && hello.Nonce != r.Nonce:
		err = errors.New("the container's share is not the one of this session")
	}
	return hello.Socket, err
}

// read takes what calls send.
func (r *Listener) read(l *link) error {
	buf := make([]byte, wire.MaxChunk)
	var last uint32
	for {
		call, b, err := readChunk(l.stream, buf)
		if err != nil {
			return err
		}
		if call <= last {
			l.deliver(call, b) // to nobody, if it is over
			continue
		}
		last = call
		if len(b) == 0 {
			continue // a caller that changed its mind
		}
		c, err := l.open(call)
		if err != nil {
			return err
		}
		select {
		case r.calls <- c:
		case <-l.over: // nobody takes it, and the relay has gone
			return net.ErrClosed
		case <-r.done:
			return net.ErrClosed
		}
		c.put(b)
	}
}

// readChunk reads one chunk, into buf, which has room for any.
func readChunk(stream io.Reader, buf []byte) (call uint32, b []byte, err error) {
	if _, err := io.ReadFull(stream, buf[:wire.ChunkLen]); err != nil {
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
