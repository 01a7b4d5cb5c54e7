// SPDX-License-Identifier: Apache-2.0

package container

import "context"

const (
	// atOnce is the maximum number of containers per session. More calls wait in order. A network of the
	// engine takes only about a thousand containers, and other sessions need some too.
	atOnce = 64
	// making is the maximum number of containers that are being created. A higher limit only makes each
	// creation slower.
	making = 8
)

// semaphore is a semaphore. Its capacity is the number of holders.
type semaphore chan struct{}

// acquire waits for a turn. If ctx ends first, it returns the cause.
func (t semaphore) acquire(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t semaphore) release() { <-t }
