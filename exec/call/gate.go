// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// hearing is how long a caller may take over its request. A shim sends it at once, but a
	// machine that is busy may have it wait for seconds between two system calls.
	hearing = 10 * time.Second
	// maxUnheard is how many callers may dawdle in that state together, and maxNew how
	// many may be in it at all. When one more comes, the one that has dawdled longest is
	// dropped: an honest shim's request is there when it is accepted or, on a machine that
	// is busy with hundreds of them, soon after; so ten thousand silent connections cost it
	// nothing.
	maxUnheard = 64
	maxNew     = 1024
	dawdling   = 2 * time.Second
)

// gate holds the connections whose request has not been heard yet, oldest first.
type gate struct {
	mu      sync.Mutex // guards the field below
	unheard []newcomer
}

type newcomer struct {
	net.Conn
	since time.Time
}

// enter admits conn, drops those that are too many by it, and returns what to read the request from.
func (g *gate) enter(conn net.Conn) *incoming {
	now := time.Now()
	conn.SetReadDeadline(now.Add(hearing))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unheard = append(g.unheard, newcomer{conn, now})
	drop := max(0, len(g.unheard)-maxNew)
	for len(g.unheard)-drop > maxUnheard && now.Sub(g.unheard[drop].since) > dawdling {
		drop++
	}
	for _, c := range g.unheard[:drop] {
		// Only its reads are cut short: its own goroutine closes it, unless the request has come.
		c.SetReadDeadline(time.Unix(1, 0))
	}
	g.unheard = slices.Delete(g.unheard, 0, drop)
	return &incoming{Conn: conn}
}

// leave forgets conn, whose request has been heard, or never will be.
func (g *gate) leave(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.unheard, func(c newcomer) bool { return c.Conn == conn }); i >= 0 {
		g.unheard = slices.Delete(g.unheard, i, i+1)
	}
	conn.SetReadDeadline(time.Time{})
}
