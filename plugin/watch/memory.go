// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"runtime/debug"
	"sync"
	"time"
)

// startupTime is the time after which a watcher begins to save memory. By then its container and relays run, also on a
// busy machine: collections would delay both.
const startupTime = 3 * time.Second

const (
	// collectAbove is the size of memory above which the watcher collects garbage as often as possible. A thousand
	// calls in flight then need almost 24 MiB. At the collector's own pace they need 2 MiB more on a busy machine.
	collectAbove = 18 << 20
	// collectAboveBusy is the same while calls end. With a thousand callers that each call again and again, the
	// collector would otherwise need more time than all calls.
	collectAboveBusy = 32 << 20
	// requestCopies is the maximum number of copies of a long request in memory: the frame, its strings, and the
	// record. The collector cannot free them during the call.
	requestCopies = 4
)

// memory limits the memory of this process, a watcher. A watcher is mostly idle, so its memory matters more than its
// CPU time.
type memory struct {
	started *time.Timer // makes the garbage collector run often, after the start
	idle    *time.Timer // gives the memory of calls back to the system when no call has ended for a while

	mu       sync.Mutex // guards the fields below
	requests int64      // total size of long requests
	busy     bool       // calls have ended lately
}

// start begins to limit the memory. The caller calls stop.
func (m *memory) start() {
	m.idle = time.AfterFunc(2*startupTime, m.free)
	m.started = time.AfterFunc(startupTime, func() {
		debug.SetGCPercent(10)
		debug.FreeOSMemory() // what only the start needed
	})
}

func (m *memory) stop() {
	m.idle.Stop()
	m.started.Stop()
}

// setRequests sets the total size of the long requests in memory.
func (m *memory) setRequests(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = size
	m.setLimit()
}

func (m *memory) callEnded() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.busy {
		m.busy = true
		m.setLimit()
	}
	m.idle.Reset(startupTime)
}

// free gives the memory that calls needed back to the system.
func (m *memory) free() {
	m.mu.Lock()
	m.busy = false
	m.setLimit()
	m.mu.Unlock()
	debug.FreeOSMemory()
}

// setLimit sets the size above which the collector runs as often as possible. The caller holds mu.
func (m *memory) setLimit() {
	limit := int64(collectAbove)
	if m.busy {
		limit = collectAboveBusy
	}
	debug.SetMemoryLimit(limit + requestCopies*m.requests)
}
