// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestTurns: there are as many as there may be, the next one waits, and who leaves meanwhile
// takes none.
//
// Attack 203.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(turns, 2)
		for range 2 {
			if err := all.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		why := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		// ends when it has a turn, which leave forbids.
		go func() { first <- all.take(ctx) }()
		synctest.Wait()
		// ends when it has a turn, below.
		go func() { second <- all.take(t.Context()) }()
		synctest.Wait()
		leave(why)
		if err := <-first; err != why {
			t.Errorf("who has left: %v, want %v", err, why)
		}
		select {
		case err := <-second:
			t.Fatalf("a third one has a turn: %v", err)
		default:
		}
		all.giveBack()
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}
