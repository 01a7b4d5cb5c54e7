// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// requestTimeout is how long a caller may take over its request. A shim sends it at once, but a
	// machine that is busy may have it wait for seconds between two system calls.
	requestTimeout = 10 * time.Second
	// maxSlow is how many callers may dawdle in that state together, and maxNew how
	// many may be in it at all. When one more comes, the one that has dawdled longest is
	// dropped: an honest shim's request is there when it is accepted or, on a machine that
	// is busy with hundreds of them, soon after; so ten thousand silent connections cost it
	// nothing.
	maxSlow   = 64
	maxNew    = 1024
	slowAfter = 2 * time.Second
)

// connLimiter holds the connections whose request has not been heard yet, oldest first.
type connLimiter struct {
	mu      sync.Mutex // guards the field below
	waiting []waitingConn
}

type waitingConn struct {
	net.Conn
	since time.Time
}

// enter admits conn, drops those that are too many by it, and returns what to read the request from.
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

// leave forgets conn, whose request has been heard, or never will be.
func (g *connLimiter) leave(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.waiting, func(c waitingConn) bool { return c.Conn == conn }); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	conn.SetReadDeadline(time.Time{})
}
