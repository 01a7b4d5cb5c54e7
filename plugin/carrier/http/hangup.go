// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// notifyHangup calls gone when the other end of conn is closed. A client that closed it only for writing still waits.
// Data that arrives is dropped.
func notifyHangup(ctx context.Context, conn net.Conn, gone func()) {
	io.Copy(io.Discard, conn)
	if pollUntil(ctx, conn, hungUp) {
		gone()
	}
}

// pollUntil returns true as soon as done(conn) does. It returns false if ctx ends first.
func pollUntil(ctx context.Context, conn net.Conn, done func(net.Conn) bool) bool {
	tick := time.NewTicker(hangupInterval)
	defer tick.Stop()
	for !done(conn) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// withHangup returns a context that is done when the other end of conn is closed. net/http does not notice that if
// a byte follows the request. The caller must call stop.
func withHangup(ctx context.Context, conn net.Conn) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	// ends when the caller hangs up, or with ctx.
	watching.Go(func() {
		defer cancel()
		pollUntil(ctx, conn, closedForWriting)
	})
	return ctx, func() { cancel(); watching.Wait() }
}
