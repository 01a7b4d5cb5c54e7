// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"net"
	"sync"
)

// listener keeps track of its open connections, also of those that a handler has hijacked from net/http.
type listener struct {
	net.Listener

	mu   sync.Mutex // guards the field below
	open map[*conn]bool
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{UnixConn: accepted.(*net.UnixConn), of: l} // the embedded listener accepts unix sockets only
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*conn]bool{}
	}
	l.open[c] = true
	return c, nil
}

// closeAll closes the connections that are open.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.UnixConn.Close()
	}
}

// conn is a client's connection.
type conn struct {
	*net.UnixConn
	of *listener
}

// Close closes the connection.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.UnixConn.Close()
}
