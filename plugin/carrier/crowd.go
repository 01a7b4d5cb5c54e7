// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// maxStrangers is how many connections may be there that have not said whose they are.
const maxStrangers = 128

// crowd is a listener of connections that anybody can make. When there are too many of
// strangers, the oldest goes of the address that has the most: who makes ten thousand crowds
// out itself.
type crowd struct {
	net.Listener
	near      netip.Prefix // where they come from, but for this host itself; the zero one is anywhere
	mu        sync.Mutex   // guards the field below
	strangers []*guest     // oldest first
}

// guest is one of a crowd's connections.
type guest struct {
	net.Conn
	c    *crowd
	from string
}

func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &guest{Conn: conn, c: c}
		if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok && !g.comesFrom(a.AddrPort().Addr().Unmap()) {
			conn.Close()
			continue
		}
		if out := c.admit(g); out != nil {
			out.Conn.Close() // its own goroutine does the rest
		}
		return g, nil
	}
}

// comesFrom notes where g comes from, and reports whether it may.
func (g *guest) comesFrom(addr netip.Addr) bool {
	g.from = addr.String()
	near := g.c.near
	return !near.IsValid() || near.Contains(addr) && addr != near.Addr()
}

// admit takes g in, and returns who has to go for it.
func (c *crowd) admit(g *guest) (out *guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers = append(c.strangers, g)
	if len(c.strangers) <= maxStrangers {
		return nil
	}
	of := map[string]int{}
	for _, s := range c.strangers {
		of[s.from]++
	}
	most := 0
	for i, s := range c.strangers {
		if of[s.from] > of[c.strangers[most].from] {
			most = i
		}
	}
	out = c.strangers[most]
	c.strangers = slices.Delete(c.strangers, most, most+1)
	return out
}

// known says that g is no stranger any more.
func (g *guest) known() {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	if i := slices.Index(g.c.strangers, g); i >= 0 {
		g.c.strangers = slices.Delete(g.c.strangers, i, i+1)
	}
}

func (g *guest) Close() error {
	g.known()
	return g.Conn.Close()
}

// Close closes the listener, and what strangers have.
func (c *crowd) Close() error {
	err := c.Listener.Close()
	c.mu.Lock()
	all := slices.Clone(c.strangers)
	c.mu.Unlock()
	for _, g := range all {
		g.Close()
	}
	return err
}
