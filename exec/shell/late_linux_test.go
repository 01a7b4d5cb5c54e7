// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"syscall"
	"testing"
)

// TestLateInterrupt: an INT that was meant for a text, and comes when it has ended, does nothing to the
// next one.
func TestLateInterrupt(t *testing.T) {
	r := newFixture(t)
	s := r.shell(t, "one")
	r.text(t, s, ":")
	pid := s.info().PID
	for i := range 500 {
		if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := r.text(t, s, "echo $((1+1))"); got != (result{out: "2\n"}) {
			t.Fatalf("%d. text: %+v", i, got)
		}
	}
}
