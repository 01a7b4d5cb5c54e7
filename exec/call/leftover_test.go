// SPDX-License-Identifier: Apache-2.0

package call

import (
	"strconv"
	"testing"
)

// TestLeftoverOwner: of many requests those are known that run.
func TestLeftoverOwner(t *testing.T) {
	s := &Server{}
	s.running.set(Running{Request: "runs"}, nil)
	s.left.add("runs", s.running.list)
	for i := range 2 * maxLeftovers {
		s.left.add(strconv.Itoa(i), s.running.list)
	}
	if n := len(s.left.ids); n > maxLeftovers || !s.left.has("runs") || !s.left.has(strconv.Itoa(2*maxLeftovers-1)) {
		t.Errorf("%d are known, or not what runs", n)
	}
}
