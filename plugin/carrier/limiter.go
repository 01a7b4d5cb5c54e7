// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// MaxUnauthenticated is the maximum number of connections that are not authenticated.
const MaxUnauthenticated = 128

// ConnLimiter is a listener that limits connections that are not authenticated yet. If there are more than
// MaxUnauthenticated, it finds the address with the most of them, and closes the oldest one from there. So a client
// with ten thousand connections displaces only its own.
type ConnLimiter struct {
	net.Listener
	// Network is where connections are accepted from, except from its own address. The zero value means every network.
	Network netip.Prefix

	mu              sync.Mutex     // guards the field below
	unauthenticated []*LimitedConn // oldest first
}

// LimitedConn is a connection of a ConnLimiter.
type LimitedConn struct {
	net.Conn
	limiter *ConnLimiter
	from    string
}

func (c *ConnLimiter) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &LimitedConn{Conn: conn, limiter: c}
		if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok && !g.comesFrom(a.AddrPort().Addr().Unmap()) {
			conn.Close()
			continue
		}
		if displaced := c.add(g); displaced != nil {
			displaced.Conn.Close() // its own goroutine sees that and calls Close
		}
		return g, nil
	}
}

// comesFrom stores the address of g, and reports whether it is accepted.
func (g *LimitedConn) comesFrom(addr netip.Addr) bool {
	g.from = addr.String()
	network := g.limiter.Network
	return !network.IsValid() || network.Contains(addr) && addr != network.Addr()
}

// add adds g, and returns the connection that must be closed for it, or nil.
func (c *ConnLimiter) add(g *LimitedConn) (displaced *LimitedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unauthenticated = append(c.unauthenticated, g)
	if len(c.unauthenticated) <= MaxUnauthenticated {
		return nil
	}
	count := map[string]int{}
	for _, s := range c.unauthenticated {
		count[s.from]++
	}
	most := 0
	for i, s := range c.unauthenticated {
		if count[s.from] > count[c.unauthenticated[most].from] {
			most = i
		}
	}
	displaced = c.unauthenticated[most]
	c.unauthenticated = slices.Delete(c.unauthenticated, most, most+1)
	return displaced
}

// MarkAuthenticated records that g is authenticated.
func (g *LimitedConn) MarkAuthenticated() {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	if i := slices.Index(g.limiter.unauthenticated, g); i >= 0 {
		g.limiter.unauthenticated = slices.Delete(g.limiter.unauthenticated, i, i+1)
	}
}

func (g *LimitedConn) Close() error {
	g.MarkAuthenticated()
	return g.Conn.Close()
}

// Close closes the listener, and the connections that are not authenticated.
func (c *ConnLimiter) Close() error {
	err := c.Listener.Close()
	c.mu.Lock()
	all := slices.Clone(c.unauthenticated)
	c.mu.Unlock()
	for _, g := range all {
		g.Close()
	}
	return err
}
