// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/job"
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

// TestKillMany checks that the work of kill does not grow with the number of its ids. It scanned processes of the host
// for each: with a hundred processes that a call has left, one id took 41 ms, and 1024 ids 48 s.
func TestKillMany(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done")
	c.Read(t, wire.KindExit)
	ended := calltest.Background(t, s, "sh", "-c", "exit 0")
	calltest.Hostexec(t, s, "wait", ended)
	var unknown, same []string
	for i := range job.MaxRunning {
		unknown, same = append(unknown, fmt.Sprintf("%015xx", i)), append(same, ended)
	}
	for _, tt := range []struct {
		name, reason string
		refs         []string
	}{
		{"unknown ids", "no such job or call", unknown},
		{"an ended job, named again and again", "it has ended", same},
	} {
		t.Run(tt.name, func(t *testing.T) {
			took := func(refs []string) time.Duration {
				start := time.Now()
				got := calltest.Hostexec(t, s, append([]string{"kill"}, refs...)...)
				if got.Exit.Code != 1 || !strings.Contains(got.Exit.Text, tt.reason) {
					t.Errorf("kill of %d ids: code %d, %.200q, want %q", len(refs), got.Exit.Code, got.Exit.Text, tt.reason)
				}
				return time.Since(start)
			}
			one, many := took(tt.refs[:1]), took(tt.refs)
			if most := 100 * max(one, 5*time.Millisecond); many > most {
				t.Errorf("kill of %d ids took %s, and of one %s", len(tt.refs), many, one)
			}
		})
	}
}

// TestKillTwice checks that kill ends an entry once, although its id and a beginning of it are given.
func TestKillTwice(t *testing.T) {
	s, _ := calltest.NewServer(t)
	id := calltest.Background(t, s, "sh", "-c", "exec sleep 1000")
	if got := calltest.Hostexec(t, s, "kill", id, id[:8], id); got.Exit.Code != 0 || got.Out.String() != id+"\n" {
		t.Errorf("kill: %q, %+v", got.Out.String(), got.Exit)
	}
}
