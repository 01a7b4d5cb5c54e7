// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestSemaphore checks that the next caller waits if no turn is left, and that a cancelled caller takes none.
//
// Attack 203.
func TestSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(semaphore, 2)
		for range 2 {
			if err := all.acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		why := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		// Ends when it has a turn, or with leave.
		go func() { first <- all.acquire(ctx) }()
		synctest.Wait()
		// Ends when it has a turn, below.
		go func() { second <- all.acquire(t.Context()) }()
		synctest.Wait()
		leave(why)
		if err := <-first; err != why {
			t.Errorf("a cancelled caller: %v, want %v", err, why)
		}
		select {
		case err := <-second:
			t.Fatalf("a third holder: %v", err)
		default:
		}
		all.release()
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}
