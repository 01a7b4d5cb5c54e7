// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	timetypes "github.com/docker/docker/api/types/time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// SinceTime parses a time as docker logs does.
func SinceTime(value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	stamp, err := timetypes.GetTimestamp(value, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since %s: neither a time, as 2026-01-31T12:00:00Z, nor an age, as 15m", names.Quoted(value))
	}
	sec, nsec, err := timetypes.ParseTimestamps(stamp, 0)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since %s: %w", names.Quoted(value), err)
	}
	return time.Unix(sec, nsec).Truncate(time.Second), nil // records have whole seconds
}

// PauseUntil waits until due. It returns false if ctx ends first.
func PauseUntil(ctx context.Context, due time.Time) bool {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
