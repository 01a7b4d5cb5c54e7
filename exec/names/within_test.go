// SPDX-License-Identifier: Apache-2.0

package names

import "testing"

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		p, dir string
		want   bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/a/", "/a", true}, {"/a/b", "/a/", true}, {"/a/b", "/", true}, {"/", "/", true},
		{"/ab", "/a", false}, {"/", "/a", false}, {"/a/../b", "/a", false}, {"a/b", "/a", false}, {"", "/a", false}, {"/a", "", false},
	} {
		if got := Within(tt.p, tt.dir); got != tt.want {
			t.Errorf("Within(%q, %q) = %t, want %t", tt.p, tt.dir, got, tt.want)
		}
	}
}
