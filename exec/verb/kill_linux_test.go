// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestKillCall: hostexec kill ends a call that hostexec ps lists, by its id or the beginning of one.
func TestKillCall(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "sleep 1000 & wait") // which says nothing of the end of a child
	c.Read(t, wire.KindStarted)
	id := s.Running()[0].Request
	if got := calltest.Hostexec(t, s, "kill", "-s", "USR1", id); got.Exit.Code != 1 || !strings.Contains(got.Exit.Text, "signals from its caller only") {
		t.Errorf("kill -s: %+v", got.Exit)
	}
	for _, words := range [][]string{{"logs", id}, {"logs", "-f", id[:8]}, {"wait", id}} {
		want := "hostexec: " + words[len(words)-1] + " is a call, not a job: its caller gets its output and its exit code; hostexec -d starts a job\n"
		if got := calltest.Hostexec(t, s, words...); got.Exit.Code != 125 || got.Exit.Text != want {
			t.Errorf("%q of a call: %+v, want the text %q", words, got.Exit, want)
		}
	}
	if got := calltest.Hostexec(t, s, "kill", "zz", ""); got.Exit.Code != 1 || strings.Count(got.Exit.Text, "no such job") != 2 {
		t.Errorf("kill of none: %+v", got.Exit)
	}
	if got := calltest.Hostexec(t, s, "kill", id[:8]); got.Exit.Code != 0 || got.Out.String() != id+"\n" {
		t.Errorf("kill: %q, %+v", got.Out.String(), got.Exit)
	}
	if c.Read(t, wire.KindExit); c.Exit.Outcome != wire.Signaled || c.Exit.Signal != "TERM" {
		t.Errorf("the caller is told %+v, want that it died of TERM", c.Exit)
	}
}
