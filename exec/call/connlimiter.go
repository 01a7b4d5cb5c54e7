// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// requestTimeout is the time limit for a caller to send its request. A shim sends it at once, but on
	// a busy machine seconds may pass between two of its system calls.
	requestTimeout = 10 * time.Second
	// maxNew is the maximum number of connections without a request: beyond it, the oldest are dropped. Beyond maxSlow,
	// those older than slowAfter are dropped. A shim sends its request together with the connection or soon after, so
	// ten thousand silent connections do not delay it.
	maxSlow   = 64
	maxNew    = 1024
	slowAfter = 2 * time.Second
)

// connLimiter holds the connections whose request has not been read yet, oldest first.
type connLimiter struct {
	mu      sync.Mutex // guards the field below
	waiting []waitingConn
}

type waitingConn struct {
	net.Conn
	since time.Time
}

// enter adds conn, drops connections beyond the limits, and returns the reader of the request.
func (g *connLimiter) enter(conn net.Conn) *incoming {
	now := time.Now()
	conn.SetReadDeadline(now.Add(requestTimeout))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, waitingConn{conn, now})
	drop := max(0, len(g.waiting)-maxNew)
	for len(g.waiting)-drop > maxSlow && now.Sub(g.waiting[drop].since) > slowAfter {
		drop++
	}
	for _, c := range g.waiting[:drop] {
		// Only its reads are cut short: its own goroutine closes it, unless the request has come.
		c.SetReadDeadline(time.Unix(1, 0))
	}
	g.waiting = slices.Delete(g.waiting, 0, drop)
	return &incoming{Conn: conn}
}

// leave removes conn: its request has been read, or failed.
func (g *connLimiter) leave(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.waiting, func(c waitingConn) bool { return c.Conn == conn }); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	conn.SetReadDeadline(time.Time{})
}
