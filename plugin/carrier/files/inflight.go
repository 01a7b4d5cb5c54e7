// SPDX-License-Identifier: Apache-2.0

package files

import "sync"

// load counts the calls in flight. A request that exceeds a limit is skipped: it waits as a file.
type load struct {
	retry chan struct{} // receives when a skipped request may be taken

	mu          sync.Mutex // guards the fields below
	count       int        // calls in flight
	skipped     bool       // a request was not taken, and may still be there
	queuedBytes int        // bytes of requests that were read, and are not sent to the host yet
}

// maxCalls is the maximum number of calls at a time.
const maxCalls = 1024

// maxQueuedBytes is the maximum number of bytes of requests that were read, and are not sent to the host yet.
const maxQueuedBytes = 8 << 20

func newLoad() *load { return &load{retry: make(chan struct{}, 1)} }

// enter counts a call in flight. It reports false if there are too many.
func (l *load) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxCalls || l.queuedBytes >= maxQueuedBytes {
		l.skipped = true
		return false
	}
	l.count++
	return true
}

func (l *load) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.retryLocked()
}

// abandon reverts enter for a request that could not be read. Descriptors may have run out: calls that end release
// some.
func (l *load) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.skipped = true
}

// addQueued notes that n more bytes of requests were read, or, if n is negative, that -n bytes were sent.
func (l *load) addQueued(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queuedBytes += n
	if n < 0 {
		l.retryLocked()
	}
}

// noteSkipped notes that a directory may have requests that were not taken.
func (l *load) noteSkipped() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipped = true
}

// retryLocked makes the loop read the directories if a request was skipped. That is rare, and reading them
// costs a third of a call.
func (l *load) retryLocked() {
	if !l.skipped {
		return
	}
	l.skipped = false
	select {
	case l.retry <- struct{}{}:
	default:
	}
}
