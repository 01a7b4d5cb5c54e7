// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
)

// TestJobLeft checks that processes that a job has left are listed, and that its id ends them.
func TestJobLeft(t *testing.T) {
	s, _ := calltest.NewServer(t)
	hold, gone := calltest.Alive(t)
	id := calltest.Background(t, s, "sh", "-c", hold+"setsid sleep 1000 & exit 7")
	if c := calltest.Hostexec(t, s, "wait", id); c.Exit.Code != 7 {
		t.Errorf("wait: %+v", c.Exit)
	}
	c := calltest.Hostexec(t, s, "ps")
	if out := c.Out.String(); !strings.Contains(out, id+"   job    failed") || !strings.Contains(out, id+"   left   running") {
		t.Errorf("ps says %q", out)
	}
	if c := calltest.Hostexec(t, s, "kill", id); c.Exit.Code != 0 || c.Out.String() != id+"\n" {
		t.Errorf("kill: %+v, %q", c.Exit, c.Out.String())
	}
	gone()
	if c := calltest.Hostexec(t, s, "kill", id); c.Exit.Code != 1 {
		t.Errorf("kill again: %+v", c.Exit)
	}
}
