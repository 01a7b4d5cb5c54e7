// SPDX-License-Identifier: Apache-2.0

package call

import "sync"

// broadcast notifies any number of listeners of a change. The zero value is ready.
type broadcast struct {
	mu   sync.Mutex    // guards the field below
	next chan struct{} // closed by notify; nil without listeners
}

// listen returns a channel that the next notify closes.
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
