// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"testing"
	"time"
)

func TestPauseUntil(t *testing.T) {
	if !PauseUntil(t.Context(), time.Now().Add(-time.Hour)) {
		t.Error("it did not return at once")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if PauseUntil(ctx, time.Now().Add(time.Hour)) {
		t.Error("it waited although ctx had ended")
	}
}

func TestSinceTime(t *testing.T) {
	now := time.Date(2026, 3, 30, 12, 0, 0, 500, time.UTC)
	for value, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "0d": "2026-03-30T12:00:00Z", "7d": "2026-03-23T12:00:00Z", "1h": "2026-03-30T11:00:00Z",
		"2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z",
	} {
		if got, err := SinceTime(value, now); err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("SinceTime(%q) = %v, %v, want %s", value, got, err, want)
		}
	}
	for _, value := range []string{"d", "-1d", "1.5d", "+1d", "7 d", "100001d", "99999999999999999999d", "soon", "-5m", "-1"} {
		if got, err := SinceTime(value, now); err == nil {
			t.Errorf("SinceTime(%q) = %v", value, got)
		}
	}
}
