// SPDX-License-Identifier: Apache-2.0

// Package broadcast wakes all goroutines that wait for a change.
package broadcast

import "sync"

// Signal notifies any number of listeners of a change. The zero value is ready.
type Signal struct {
	mu   sync.Mutex    // guards the field below
	next chan struct{} // closed by Send; nil without listeners
}

// Next returns a channel that the next Send closes.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Send closes the channel of all listeners.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
