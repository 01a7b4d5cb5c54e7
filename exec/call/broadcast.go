// SPDX-License-Identifier: Apache-2.0

package call

import "sync"

// broadcast tells any number of listeners that something has changed. Its zero value is ready.
type broadcast struct {
	mu   sync.Mutex    // guards the field below
	next chan struct{} // closed by tell; nil when nobody listens
}

// listen returns a channel that is closed at the next tell.
func (n *broadcast) listen() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *broadcast) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}
