// SPDX-License-Identifier: Apache-2.0

package call

import (
	"strconv"
	"testing"
)

// TestOwned: of many requests those are known that run.
func TestOwned(t *testing.T) {
	s := &Server{}
	s.running.set(Running{Request: "runs"}, nil)
	s.own("runs")
	for i := range 2 * maxOwned {
		s.own(strconv.Itoa(i))
	}
	if n := len(s.owned.ids); n > maxOwned || !s.owned.has("runs") || !s.owned.has(strconv.Itoa(2*maxOwned-1)) {
		t.Errorf("%d are known, or not what runs", n)
	}
}
