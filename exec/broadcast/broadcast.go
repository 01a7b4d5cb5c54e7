// SPDX-License-Identifier: Apache-2.0

// Package broadcast wakes all goroutines that wait for a change.
package broadcast

import "sync"

// Event notifies any number of listeners of a change. The zero value is ready.
type Event struct {
	mu   sync.Mutex    // guards the field below
	next chan struct{} // closed by Send; nil without listeners
}

// Next returns a channel that the next Send closes.
func (e *Event) Next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil {
		e.next = make(chan struct{})
	}
	return e.next
}

// Send closes the channel of all listeners.
func (e *Event) Send() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next != nil {
		close(e.next)
		e.next = nil
	}
}
