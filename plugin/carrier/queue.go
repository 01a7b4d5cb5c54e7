// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"net"
	"sync"
)

// Queue is a net.Listener of calls that a carrier makes in this process.
type Queue struct {
	calls chan net.Conn
	done  chan struct{} // closed by Close
	close sync.Once
	addr  Addr
}

// NewQueue returns a listener at addr.
func NewQueue(addr Addr) *Queue {
	return &Queue{calls: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

// Addr is the net.Addr of a Queue, for messages: the name of the carrier, and that of the listener.
type Addr struct{ Carrier, Listener string }

func (a Addr) Network() string { return a.Carrier }
func (a Addr) String() string  { return a.Listener }

func (q *Queue) Addr() net.Addr { return q.addr }

// Accept returns the host's end of the next call, which speaks the frames of shim/wire.
func (q *Queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.calls:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// Offer passes the host's end of a call to Accept. It returns false if the queue or cancel is closed first.
func (q *Queue) Offer(host net.Conn, cancel <-chan struct{}) bool {
	select {
	case q.calls <- host:
		return true
	case <-q.done:
	case <-cancel:
	}
	return false
}

// Done returns a channel that is closed when the queue is.
func (q *Queue) Done() <-chan struct{} { return q.done }

// Close ends Accept and Offer. A second call does nothing.
func (q *Queue) Close() error {
	q.close.Do(func() { close(q.done) })
	return nil
}
