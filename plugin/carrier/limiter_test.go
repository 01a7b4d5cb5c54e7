// SPDX-License-Identifier: Apache-2.0

package carrier

import "testing"

// TestConnLimiter opens more connections from one address than the limit: those of another address
// are kept.
//
// Attack 177.
func TestConnLimiter(t *testing.T) {
	c := &ConnLimiter{}
	one := &LimitedConn{limiter: c, from: "10.0.0.1"}
	if out := c.add(one); out != nil {
		t.Fatal("nobody has to go yet")
	}
	var first *LimitedConn
	for i := range 10 * MaxUnauthenticated {
		g := &LimitedConn{limiter: c, from: "10.0.0.2"}
		if i == 0 {
			first = g
		}
		out := c.add(g)
		if out == one {
			t.Fatal("the only one of its address had to go")
		}
		if i == MaxUnauthenticated-1 && out != first {
			t.Error("the oldest of the many is not the one to go")
		}
	}
	if len(c.unauthenticated) != MaxUnauthenticated {
		t.Errorf("%d strangers", len(c.unauthenticated))
	}
	one.MarkAuthenticated()
	if len(c.unauthenticated) != MaxUnauthenticated-1 {
		t.Error("one that is known is none")
	}
}
