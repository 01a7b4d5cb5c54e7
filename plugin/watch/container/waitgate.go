// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync"
)

// waitGate delays calls while it is shut. Its zero value is open.
type waitGate struct {
	mu     sync.Mutex    // guards the field below
	opened chan struct{} // open closes it; nil while the gate is open
}

func (g *waitGate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

func (g *waitGate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// pass returns when the gate is open. It returns false if ctx is done first.
func (g *waitGate) pass(ctx context.Context) bool {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened == nil {
		return true
	}
	select {
	case <-opened:
		return true
	case <-ctx.Done():
		return false
	}
}
