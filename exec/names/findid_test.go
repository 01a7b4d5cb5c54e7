// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"
	"testing"
)

// TestFindID checks that an id is preferred to ids that begin with it, and that an id that several elements have counts
// once.
func TestFindID(t *testing.T) {
	type job struct{ id, kind string }
	all := []job{{"00aa", "job"}, {"00ab", "job"}, {"00aa", "left"}, {"0", "call"}, {"ff00", "job"}, {"", "none"}}
	for _, tt := range []struct {
		name, ref string
		want      []job
	}{
		{"an id", "ff00", []job{{"ff00", "job"}}},
		{"the first element of an id", "00aa", []job{{"00aa", "job"}}},
		{"an id that others begin with", "0", []job{{"0", "call"}}},
		{"the beginning of one", "f", []job{{"ff00", "job"}}},
		{"the beginning of two, of which one is of two elements", "00a", []job{{"00aa", "job"}, {"00ab", "job"}}},
		{"more than an id", "ff000", nil},
		{"another id", "e", nil},
		{"nothing", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FindID(all, func(j job) string { return j.id }, tt.ref); !slices.Equal(got, tt.want) {
				t.Errorf("FindID(%q) = %v, want %v", tt.ref, got, tt.want)
			}
		})
	}
}
