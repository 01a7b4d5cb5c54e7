// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// MaxUnknown is the maximum number of connections that are not authenticated.
const MaxUnknown = 128

// ConnLimiter is a listener for connections of unknown clients. If too many are not authenticated, it closes the oldest
// one from the address with the most. So a client with ten thousand connections displaces only its own.
type ConnLimiter struct {
	net.Listener
	Network netip.Prefix   // connections are accepted from it, except from its own address; the zero value means every network
	mu      sync.Mutex     // guards the field below
	unknown []*LimitedConn // oldest first
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
	c.unknown = append(c.unknown, g)
	if len(c.unknown) <= MaxUnknown {
		return nil
	}
	count := map[string]int{}
	for _, s := range c.unknown {
		count[s.from]++
	}
	most := 0
	for i, s := range c.unknown {
		if count[s.from] > count[c.unknown[most].from] {
			most = i
		}
	}
	displaced = c.unknown[most]
	c.unknown = slices.Delete(c.unknown, most, most+1)
	return displaced
}

// Known records that g is authenticated.
func (g *LimitedConn) Known() {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	if i := slices.Index(g.limiter.unknown, g); i >= 0 {
		g.limiter.unknown = slices.Delete(g.limiter.unknown, i, i+1)
	}
}

func (g *LimitedConn) Close() error {
	g.Known()
	return g.Conn.Close()
}

// Close closes the listener, and the connections that are not authenticated.
func (c *ConnLimiter) Close() error {
	err := c.Listener.Close()
	c.mu.Lock()
	all := slices.Clone(c.unknown)
	c.mu.Unlock()
	for _, g := range all {
		g.Close()
	}
	return err
}
