// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"testing"
	"time"
)

// TestStart is F002-009 to F002-011, F002-018 to F002-022, F002-046 to F002-048.
func TestStart(t *testing.T) { forEachBackend(t, testStart) }

func testStart(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	r.text(t, s, `x=5; f() { echo "f $x"; }; alias al=f; (exit 9)`)
	got := r.run(t.Context(), s.Start, Command{Text: "echo $?; f; al; x=6; cd /; cat; echo e >&2; exit 3"})
	if got.code != 3 || got.out != "9\nf 5\nf 5\n" || got.err != "e\n" || got.failed != nil {
		t.Errorf("a copy: %+v", got)
	}
	if got := r.text(t, s, `echo $x ${PWD##*/}`).out; got != "5 "+base(r.work)+"\n" {
		t.Errorf("the shell afterwards: %q", got)
	}
	for text, code := range map[string]int{`exit 4`: 4, `if`: 2, `set -e; false; echo no`: 1, `kill -KILL $BASHPID`: 137, `exec sh -c "exit 5"`: 5, `echo "`: 2} {
		if got := r.run(t.Context(), s.Start, Command{Text: text}); got.code != code || got.out != "" || got.failed != nil {
			t.Errorf("a copy of %q: %+v", text, got)
		}
	}
	if got := r.run(t.Context(), s.Start, Command{Text: `echo $v ${PWD}`, Env: []string{"v=own"}, Dir: "/"}); got.out != "own /\n" {
		t.Errorf("a copy with its own: %+v", got)
	}
	if got := r.text(t, s, `wait; jobs; echo "${v-unset}"`); got.out != "unset\n" || got.err != "" {
		t.Errorf("the shell knows of its copies: %+v", got)
	}
}

// TestCopyKilled kills a copy and the process that would report its end, while its shell lives.
func TestCopyKilled(t *testing.T) { forEachBackend(t, testCopyKilled) }

func testCopyKilled(t *testing.T, r *fixture) {
	r.ReplyTimeout = 2 * time.Second
	s := r.shell(t, "one")
	got := r.run(t.Context(), s.Start, Command{Text: `echo on; read -r _ _ _ up _ <"/proc/$BASHPID/stat"; kill -KILL "$up" $BASHPID`})
	var dead *TerminatedError
	if !errors.As(got.failed, &dead) || dead.Code != 137 || got.out != "on\n" {
		t.Errorf("%+v", got)
	}
	if got := r.text(t, s, `echo here`).out; got != "here\n" {
		t.Errorf("the shell says %q", got)
	}
}
