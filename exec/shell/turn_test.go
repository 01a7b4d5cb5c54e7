// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitForBusyShell checks that a caller who waits for a busy shell is told once, and can leave
// at once.
func TestWaitForBusyShell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Shell{turn: make(chan struct{}, 1)}
		told := 0
		o := Output{Waits: func() { told++ }}
		if err := s.takeTurn(t.Context(), Command{}, o); err != nil || told > 0 {
			t.Errorf("a free shell: %v, told %d times, want no error and 0", err, told)
		}
		left := errors.New("the caller left")
		ctx, leave := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { leave(left) })
		begin := time.Now()
		if err := s.takeTurn(ctx, Command{}, o); err != left || told != 1 || time.Since(begin) != time.Hour {
			t.Errorf("a busy shell: %v after %v, told %d times, want %v after 1h, once", err, time.Since(begin), told, left)
		}
		time.AfterFunc(time.Second, func() { <-s.turn })
		if err := s.takeTurn(t.Context(), Command{}, o); err != nil || told != 1 {
			t.Errorf("a shell that is free soon: %v, told %d times, want no error and still 1", err, told)
		}
		time.AfterFunc(time.Minute, func() { <-s.turn })
		if err := s.takeTurn(t.Context(), Command{}, Output{}); err != nil {
			t.Error(err)
		}
	})
}
