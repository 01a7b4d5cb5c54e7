// SPDX-License-Identifier: Apache-2.0

package limit

import "testing"

// TestReservation checks that a Reservation follows the size of a file and respects the limit, except for Force.
// All of it is given back.
func TestReservation(t *testing.T) {
	var s Session
	s.Adjust(Limits{Spool: 10})
	h := Reservation{From: &s}
	for _, step := range []struct {
		set, want int64
		ok        bool
	}{{8, 8, true}, {3, 3, true}, {11, 3, false}, {10, 10, true}, {0, 0, true}} {
		if err := h.Set(step.set); (err == nil) != step.ok {
			t.Errorf("Set(%d) = %v, want success %v", step.set, err, step.ok)
		}
		if got := s.Held(Spool); got != step.want || h.Amount() != step.want {
			t.Errorf("after Set(%d) the session holds %d and the file %d, want %d", step.set, got, h.Amount(), step.want)
		}
	}
	h.Force(20)
	if got := s.Held(Spool); got != 20 {
		t.Errorf("after Force(20) the session holds %d", got)
	}
	if h.Set(0); s.Held(Spool) != 0 {
		t.Errorf("%d are held in the end", s.Held(Spool))
	}
}
