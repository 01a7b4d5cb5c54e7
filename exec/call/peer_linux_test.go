// SPDX-License-Identifier: Apache-2.0

package call

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A shim says who gets a signal. One that does not, an older one, is as it was for what a terminal
// or a shell sends to all of a job.
func TestWhoGetsASignal(t *testing.T) {
	tests := []struct {
		frames []string
		want   executor.Delivery
	}{
		{[]string{wire.ToCommand, "INT"}, executor.Delivery{Signal: "INT"}},
		{[]string{wire.ToGroup, "INT"}, executor.Delivery{Signal: "INT", Group: true}},
		{[]string{wire.ToGroup, "TERM"}, executor.Delivery{Signal: "TERM", Group: true}},
		{[]string{wire.ToGroup, wire.ToCommand, "USR1"}, executor.Delivery{Signal: "USR1"}},
		{[]string{"INT"}, executor.Delivery{Signal: "INT", Group: true}},
		{[]string{"CONT"}, executor.Delivery{Signal: "CONT", Group: true}},
		{[]string{"TERM"}, executor.Delivery{Signal: "TERM"}},
		{[]string{"USR2"}, executor.Delivery{Signal: "USR2"}},
		{[]string{"KILL", "", "SIGTERM", "STOP", "USR1"}, executor.Delivery{Signal: "USR1"}},
	}
	p := newPeer(nil)
	for _, tt := range tests {
		for _, name := range tt.frames {
			p.signal(name)
		}
		if got := <-p.signals; got != tt.want || len(p.signals) > 0 {
			t.Errorf("%q are %+v and %d more, want %+v", tt.frames, got, len(p.signals), tt.want)
		}
	}
}
