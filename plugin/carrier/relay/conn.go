// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// conn is the net.Conn of one call over a mux.
type conn struct {
	mux     *mux
	call    uint32
	dropped bool // mux.mu guards it: the host has hung up

	mu      sync.Mutex // guards the fields below
	changed sync.Cond
	in      []byte // received, and not read yet
	hungUp  bool   // the shim hung up: nothing follows the data in in
	closed  bool
	expired bool // the deadline for reading has passed
	timer   *time.Timer
}

// maxUnread is the number of unread bytes of a call at which reading from the relay stops. The server reads from each
// call until it closes it.
const maxUnread = 128 << 10

func newConn(m *mux, call uint32) *conn {
	c := &conn{mux: m, call: call}
	c.changed.L = &c.mu
	return c
}

// put queues data from the shim, and waits for space. Data after the end is dropped. It keeps no part of b.
func (c *conn) put(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.in) >= maxUnread && !c.closed && !c.hungUp {
		c.changed.Wait()
	}
	if !c.closed && !c.hungUp {
		c.in = append(c.in, b...)
		c.changed.Broadcast()
	}
}

func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hungUp = true
	c.changed.Broadcast()
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.in) == 0 && !c.hungUp && !c.closed && !c.expired && len(p) > 0 {
		c.changed.Wait()
	}
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.expired:
		return 0, os.ErrDeadlineExceeded
	case len(c.in) == 0 && c.hungUp:
		return 0, io.EOF
	}
	n := copy(p, c.in)
	if c.in = c.in[n:]; len(c.in) == 0 {
		c.in = nil
	}
	c.changed.Broadcast()
	return n, nil
}

// Close hangs up. Data that was written reaches the shim before the end does.
func (c *conn) Close() error {
	c.mux.drop(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.in = true, nil
	if c.timer != nil {
		c.timer.Stop()
	}
	c.changed.Broadcast()
	return nil
}

// SetReadDeadline makes a Read that waits past t fail. The zero time means no deadline.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer, c.expired = nil, false
	if t.IsZero() || c.closed {
		return nil
	}
	var alarm *time.Timer
	alarm = time.AfterFunc(time.Until(t), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.timer == alarm { // no later one was set
			c.expired = true
			c.changed.Broadcast()
		}
	})
	c.timer = alarm
	return nil
}

func (c *conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(time.Time) error { return nil } // a write waits for space while the call is open
func (c *conn) Write(p []byte) (int, error)      { return c.mux.send(c, p) }
func (c *conn) LocalAddr() net.Addr              { return addr }
func (c *conn) RemoteAddr() net.Addr             { return addr }
