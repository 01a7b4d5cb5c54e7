// SPDX-License-Identifier: Apache-2.0

package call

import (
	"strings"
	"testing"
)

// What a job has left running when it ended is shown, and ended by its id.
func TestJobLeft(t *testing.T) {
	s, _ := Scene(t)
	hold, gone := Alive(t)
	id := Background(t, s, "sh", "-c", hold+"setsid sleep 1000 & exit 7")
	if c := Hostexec(t, s, "wait", id); c.Exit.Code != 7 {
		t.Errorf("wait: %+v", c.Exit)
	}
	c := Hostexec(t, s, "ps")
	if out := c.Out.String(); !strings.Contains(out, id+"   job    failed") || !strings.Contains(out, id+"   left   running") {
		t.Errorf("ps says %q", out)
	}
	if c := Hostexec(t, s, "kill", id); c.Exit.Code != 0 || c.Out.String() != id+"\n" {
		t.Errorf("kill: %+v, %q", c.Exit, c.Out.String())
	}
	gone()
	if c := Hostexec(t, s, "kill", id); c.Exit.Code != 1 {
		t.Errorf("kill again: %+v", c.Exit)
	}
}
