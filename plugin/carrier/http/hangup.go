// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// notifyHangup calls gone when the other end of conn has hung up. One that only has no more to say
// is there still. What it says is not heard.
func notifyHangup(ctx context.Context, conn net.Conn, gone func()) {
	io.Copy(io.Discard, conn)
	tick := time.NewTicker(hangupInterval)
	defer tick.Stop()
	for !hungUp(conn) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	gone()
}

// withHangup returns a context that is done when the other end of conn has hung up: net/http stops looking
// at the first byte behind a request. stop ends it, and has to be called.
func withHangup(ctx context.Context, conn net.Conn) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	// ends when the caller hangs up, or with ctx.
	watching.Go(func() {
		defer cancel()
		tick := time.NewTicker(hangupInterval)
		defer tick.Stop()
		for !closedForWriting(conn) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}
