// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	words := []string{"run", "status", "stop", "ps", "policy", "pending", "approve"}
	for typed, want := range map[string]string{
		"statsu": "status", "rum": "run", "urn": "run", "stauts": "status", "aprove": "approve", "pendig": "pending", "polcy": "policy",
		"pss": "ps", "sp": "ps", "stpo": "stop", "statsuu": "status",
		"": "", "x": "", "make": "", "bogus": "", "runner": "", "approximately": "", "status ": "status", strings.Repeat("status", 20): "",
	} {
		if got := Near(typed, words); got != want {
			t.Errorf("Near(%q) = %q, want %q", typed, got, want)
		}
	}
	if got := Near("status", []string{strings.Repeat("s", 1<<20), "stasus"}); got != "stasus" {
		t.Errorf("with a long word: %q", got)
	}
}
