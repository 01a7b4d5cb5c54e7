// SPDX-License-Identifier: Apache-2.0

package container

import "context"

const (
	// atOnce is how many containers a session has at a time. More calls than that wait, the
	// first the first: a network of the engine's takes but a thousand of them, and the
	// callers of other sessions want some, too.
	atOnce = 64
	// making is how many of them the engine is asked to make at a time. With more it only
	// takes longer over each.
	making = 8
)

// turns are taken, and given back, by at most as many at a time as its capacity.
type turns chan struct{}

// take waits for a turn, or returns the cause when ctx ends first.
func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turns) giveBack() { <-t }
