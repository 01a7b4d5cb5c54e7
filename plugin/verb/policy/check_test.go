// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

func TestNoProblems(t *testing.T) {
	if got, want := noProblems(nil), "no errors: there is no configuration, so containers can call only the commands of --proxy"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := noProblems([]string{"/a\x1b/config.yaml", "/b"}), `no errors in /a\x1b/config.yaml, /b`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
