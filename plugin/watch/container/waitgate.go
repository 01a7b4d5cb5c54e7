// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync"
)

// waitGate keeps calls waiting while it is not known which container they come from. Its zero
// value is open.
type waitGate struct {
	mu     sync.Mutex    // guards the field below
	opened chan struct{} // closed when it is opened; nil while it is open
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

// pass returns when the gate is open; it reports false when ctx was done first.
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
