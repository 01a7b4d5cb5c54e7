// SPDX-License-Identifier: Apache-2.0

package container

import "testing"

// TestReplicas: no container ever has two that see to its relay, whichever is shown meanwhile.
func TestReplicas(t *testing.T) {
	var r otherRelays
	want := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	want("the first has one already", r.show("one"), false)
	want("the second is news", r.enter("two"), true)
	want("the second is news again", r.enter("two"), false)
	want("the third is news", r.enter("three"), true)
	want("the second gets one", r.keep("two"), true)
	want("the second, shown, has one already", r.show("two"), true)
	r.leave("two")
	want("the second, started again while it is shown, is news", r.enter("two"), true)
	want("the second, on which that relies, gets one again", r.keep("two"), true)
	want("the third, shown before it was known how calls come, has one already", r.show("three"), false)
	want("the third gets another", r.keep("three"), false)
	r.leave("three")
	want("the first is news", r.enter("one"), true)
	want("the first, shown no more, gets one", r.keep("one"), true)
	r.leave("two")
	want("the second, started again, is news", r.enter("two"), true)
	want("the second, when another one is shown, gets one", r.keep("two"), true)
}
