// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

func TestNoProblems(t *testing.T) {
	if got, want := noProblems(nil), "nothing is wrong: there is no configuration, and only what --proxy names can be called"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := noProblems([]string{"/a\x1b/config.yaml", "/b"}), `nothing is wrong in /a\x1b/config.yaml, /b`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
