// SPDX-License-Identifier: Apache-2.0

package call

import (
	"strings"
	"testing"
)

// What a job has left running when it ended is shown, and ended by its id.
func TestJobLeft(t *testing.T) {
	s, _ := scene(t)
	hold, gone := alive(t)
	id := background(t, s, "sh", "-c", hold+"setsid sleep 1000 & exit 7")
	if c := hostexec(t, s, "wait", id); c.exit.Code != 7 {
		t.Errorf("wait: %+v", c.exit)
	}
	c := hostexec(t, s, "ps")
	if out := c.out.String(); !strings.Contains(out, id+"   job    failed") || !strings.Contains(out, id+"   left   running") {
		t.Errorf("ps says %q", out)
	}
	if c := hostexec(t, s, "kill", id); c.exit.Code != 0 || c.out.String() != id+"\n" {
		t.Errorf("kill: %+v, %q", c.exit, c.out.String())
	}
	gone()
	if c := hostexec(t, s, "kill", id); c.exit.Code != 1 {
		t.Errorf("kill again: %+v", c.exit)
	}
}
