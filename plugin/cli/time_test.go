// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"testing"
	"time"
)

func TestPauseUntil(t *testing.T) {
	if !PauseUntil(t.Context(), time.Now().Add(-time.Hour)) {
		t.Error("it did not go on at once")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if PauseUntil(ctx, time.Now().Add(time.Hour)) {
		t.Error("it waited although it was told to end")
	}
}
