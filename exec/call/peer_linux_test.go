// SPDX-License-Identifier: Apache-2.0

package call

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A shim names the target of a signal: the command, which is the default, or its process group.
func TestWhoGetsASignal(t *testing.T) {
	tests := []struct {
		frames []string
		want   executor.Delivery
	}{
		{[]string{wire.ToCommand, "INT"}, executor.Delivery{Signal: "INT"}},
		{[]string{wire.ToGroup, "INT"}, executor.Delivery{Signal: "INT", Group: true}},
		{[]string{wire.ToGroup, "TERM"}, executor.Delivery{Signal: "TERM", Group: true}},
		{[]string{wire.ToGroup, wire.ToCommand, "USR1"}, executor.Delivery{Signal: "USR1"}},
		{[]string{"INT"}, executor.Delivery{Signal: "INT"}},
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
