// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync"
)

// waitGate delays calls between shut and open. Its zero value delays none.
type waitGate struct {
	mu     sync.Mutex    // guards the field below
	opened chan struct{} // open closes it; nil while calls pass
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

// pass returns when calls may pass. It returns false if ctx is done first.
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
