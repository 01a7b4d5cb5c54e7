// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync"
	"testing"
)

// TestWaitGate checks that calls wait at a closed gate until it opens or their contexts end.
func TestWaitGate(t *testing.T) {
	var g waitGate
	if !g.pass(t.Context()) {
		t.Error("a new gate is shut")
	}
	g.shut()
	g.shut()
	over, end := context.WithCancel(t.Context())
	end()
	if g.pass(over) {
		t.Error("a call passed a gate that is shut")
	}
	var wg sync.WaitGroup
	for range 10 {
		// ends when the gate is opened.
		wg.Go(func() {
			if !g.pass(t.Context()) {
				t.Error("a call did not pass")
			}
		})
	}
	g.open()
	g.open()
	wg.Wait()
}
