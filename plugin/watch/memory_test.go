// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"runtime/debug"
	"testing"
)

// TestMemoryLimit checks that the memory may grow while calls end, and with long requests, and not at rest.
func TestMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	var m memory
	m.start()
	defer m.stop()
	limit := func(step string, want int64) {
		t.Helper()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("%s: limit %d, want %d", step, got, want)
		}
	}
	m.setRequests(1 << 20)
	limit("a long request", collectAbove+requestCopies<<20)
	m.callEnded()
	limit("a call has ended", collectAboveBusy+requestCopies<<20)
	m.setRequests(0)
	limit("no long request", collectAboveBusy)
	m.free()
	limit("at rest", collectAbove)
}
