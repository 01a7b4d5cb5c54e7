// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"testing"
	"time"
)

func TestPauseUntil(t *testing.T) {
	if !pauseUntil(t.Context(), time.Now().Add(-time.Hour)) {
		t.Error("it did not go on at once")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pauseUntil(ctx, time.Now().Add(time.Hour)) {
		t.Error("it waited although it was told to end")
	}
}
