// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"testing"
	"time"
	"unsafe"
)

// clocks returns t after the given times by the monotonic clock and by the wall clock. They differ
// after a suspend, or after the clock is set.
func clocks(t time.Time, awake, wall time.Duration) time.Time {
	t = t.Add(wall)
	(*struct { // time.Time with a monotonic reading
		wall uint64
		ext  int64
	})(unsafe.Pointer(&t)).ext += int64(awake - wall)
	return t
}

// TestClocks checks that a grant for a quarter of an hour ends by the clock that reaches its end
// first.
//
// Attack 158.
func TestClocks(t *testing.T) {
	made := time.Now()
	g, err := Terms{For: 15 * time.Minute}.grant(Question{Args: []string{"make"}}, "ann", made)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		awake, wall time.Duration
		want        bool
	}{
		{"a minute later", time.Minute, time.Minute, true},
		{"just before its end", 15*time.Minute - 1, 15*time.Minute - 1, true},
		{"at its end", 15 * time.Minute, 15 * time.Minute, false},
		{"after a night in which the machine slept", time.Minute, 9 * time.Hour, false},
		{"the clock was set forward", time.Minute, 24 * time.Hour, false},
		{"the clock was set back while it held", 16 * time.Minute, time.Minute, false},
		{"the clock was set back to before it was made", time.Minute, -time.Hour, false},
	} {
		now := clocks(made, tt.awake, tt.wall)
		if got := now.Sub(made); got != tt.awake {
			t.Fatalf("%s: the monotonic clock went on by %s, want %s", tt.name, got, tt.awake)
		}
		if got := g.valid(now); got != tt.want {
			t.Errorf("%s: it holds: %v, want %v", tt.name, got, tt.want)
		}
	}
}
