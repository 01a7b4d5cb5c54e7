// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	timetypes "github.com/docker/docker/api/types/time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// maxDays is the greatest number of days in an age. A time.Duration can hold some more: 106,751.
const maxDays = 100_000

// SinceTime parses a time as docker logs does, or a number of days such as 7d.
func SinceTime(value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if n, ok := strings.CutSuffix(value, "d"); ok {
		if days, err := strconv.ParseUint(n, 10, 32); err == nil && days <= maxDays {
			return now.AddDate(0, 0, -int(days)).Truncate(time.Second), nil
		}
	}
	stamp, err := timetypes.GetTimestamp(value, now)
	if err != nil || strings.HasPrefix(value, "-") { // an age that has not begun
		return time.Time{}, fmt.Errorf("--since %s: want a time (2026-01-31, 2026-01-31T12:00:00Z) or an age (15m, 7d)", names.Quoted(value))
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
