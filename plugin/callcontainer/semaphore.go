// SPDX-License-Identifier: Apache-2.0

package callcontainer

import "context"

const (
	// maxRunning is the maximum number of containers per session. More calls wait in order. A network of the
	// engine takes only about a thousand containers, and other sessions need some too.
	maxRunning = 64
	// maxCreating is the maximum number of containers that are being created. A higher limit only makes each
	// creation slower.
	maxCreating = 8
)

// semaphore is a counting semaphore. Its capacity is the maximum number of holders.
type semaphore chan struct{}

// acquire waits until there are fewer holders. If ctx ends first, it returns the cause.
func (t semaphore) acquire(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t semaphore) release() { <-t }
