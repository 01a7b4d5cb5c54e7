// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// TestDeath checks F002-039 to F002-041 and F002-052: death is reported at once, and a new shell
// follows.
func TestDeath(t *testing.T) { forEachBackend(t, testDeath) }

func testDeath(t *testing.T, r *fixture) {
	tests := []struct {
		name, text string
		code       int
	}{
		{"exit", `exit 3`, 3},
		{"exit of none", `exit`, 0},
		{"exit in a function", `q() { exit 4; }; q`, 4},
		{"killed", `kill -KILL $$`, 137},
		{"replaced", `exec sh -c 'exit 5'`, 5},
		{"errexit", `set -e; (exit 6); echo no`, 6},
		{"exit with children", `sleep 300 & exit 7`, 7},
	}
	s := r.shell(t, "one")
	for _, tt := range tests {
		got := r.do(t.Context(), s, Command{Text: "x=lost; echo last words; " + tt.text}) // which has not the patience for a child
		var dead *TerminatedError
		if !errors.As(got.failed, &dead) || got.failed.Error() != fmt.Sprintf("shell terminated unexpectedly (exit code: %d)", tt.code) {
			t.Errorf("%s: %v, want code %d", tt.name, got.failed, tt.code)
		}
		if got.out != "last words\n" {
			t.Errorf("%s: stdout %q", tt.name, got.out)
		}
		if got := r.text(t, s, `echo fresh $x`).out; got != "fresh\n" {
			t.Errorf("after %s the new shell says %q", tt.name, got)
		}
	}
	// A shell that dies while nobody looks.
	pid := r.List()[0].PID
	check(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "the shell is known to be dead", func() bool { return r.List()[0].PID == 0 })
	if got := r.text(t, s, `echo fresh`).out; got != "fresh\n" {
		t.Errorf("the new shell says %q", got)
	}
}

// TestRemove checks F002-070: running texts end, a second removal does nothing, and later texts get
// an error.
func TestRemove(t *testing.T) { forEachBackend(t, testRemove) }

func testRemove(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	began := make(lines, 4)
	id := newID()
	done := make(chan error)
	go func() { // ends when the shell is removed
		_, err := s.Exec(t.Context(), r.config, Command{ID: id, Text: `setsid sleep 300 & echo on; sleep 300; echo went on`}, Output{Out: began, Err: began})
		done <- err
	}()
	<-began
	if err := r.Create("one", Options{In: r.in}); !errors.Is(err, ErrExists) {
		t.Errorf("a second shell of the name: %v", err)
	}
	if !r.Remove("one") || r.Remove("one") {
		t.Error("Remove does not report what it did")
	}
	var dead *TerminatedError
	if err := <-done; !errors.As(err, &dead) || !dead.Removed || err.Error() != "the shell was removed" {
		t.Errorf("the command ended with %v", err)
	}
	if left := marked(id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := r.Find("one"); !errors.Is(err, ErrNoShell) {
		t.Errorf("it is found: %v", err)
	}
	if got := r.do(t.Context(), s, Command{Text: `:`}); !errors.Is(got.failed, ErrNoShell) {
		t.Errorf("it runs on: %+v", got)
	}
	check(t, r.Create("one", Options{In: r.in}))
}

// TestKill is F002-005, F002-032 to F002-038: a copy ends whole, and only it.
func TestKill(t *testing.T) { forEachBackend(t, testKill) }

func testKill(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	r.text(t, s, `sleep 1000 & kept=$!`)
	ctx, cancel := context.WithCancelCause(t.Context())
	began := make(lines, 4)
	var pid int
	id := newID()
	done := make(chan error)
	go func() { // ends when it is cancelled
		_, err := s.Start(ctx, r.config, Command{ID: id, Text: `bash -c "sleep 100 & setsid sleep 100 & (trap '' TERM; sleep 100) & echo on; sleep 100"`},
			Output{Out: began, Err: began, Started: func(_ string, p int) { pid = p }})
		done <- err
	}()
	<-began
	if got := r.text(t, s, `echo not held up`).out; got != "not held up\n" { // F002-020
		t.Errorf("the shell says %q", got)
	}
	runs := "bash"
	if r.config.Sandbox != nil { // a text there could report any pid
		runs = ProgramName
	}
	if env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err != nil || !bytes.HasPrefix(env, []byte(runs)) {
		t.Errorf("pid %d is %q: %v", pid, env, err)
	}
	cancel(errLate)
	if err := <-done; !errors.Is(err, errLate) {
		t.Errorf("it ended with %v", err)
	}
	if left := marked(id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := r.text(t, s, `kill -0 $kept && echo kept`).out; got != "kept\n" {
		t.Errorf("the shell's own children: %q", got)
	}
	// One whose shell dies first is told of all the same.
	go func() { // ends when its text does
		_, err := s.Start(t.Context(), r.config, Command{ID: newID(), Text: `echo on; sleep .3`}, Output{Out: began, Err: began})
		done <- err
	}()
	<-began
	r.do(t.Context(), s, Command{Text: `exit`})
	check(t, <-done)
}

// TestRemoveDead checks that rm ends the processes that one or two dead shells have left, in the
// background and in copies.
func TestRemoveDead(t *testing.T) { forEachBackend(t, testRemoveDead) }

func testRemoveDead(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	ids := []string{newID(), newID()}
	done := make(chan error)
	for _, id := range ids {
		began := make(lines, 4)
		go func() { // ends when the shell is removed
			_, err := s.Start(t.Context(), r.config, Command{ID: id, Text: `echo on; exec sleep 1000`}, Output{Out: began, Err: began})
			done <- err
		}()
		<-began
		r.do(t.Context(), s, Command{Text: `exit`})
	}
	removed := make(chan bool)
	go func() { removed <- r.Remove("one") }() // ends with what the shell has left
	late, over := patient(t.Context())
	defer over()
	for range ids {
		select {
		case <-done:
		case <-late.Done():
			t.Fatal("a copy goes on")
		}
	}
	if !<-removed {
		t.Error("there was none")
	}
	for _, id := range ids {
		eventually(t, "nothing is left", func() bool { return len(marked(id)) == 0 })
	}
	if r.in != nil {
		return // there it ends with the shell
	}
	s = r.shell(t, "two")
	id := newID()
	_, err := s.Exec(t.Context(), r.config, Command{ID: id, Text: `sleep 1000 & exit`}, Output{Out: io.Discard, Err: io.Discard})
	if err == nil {
		t.Error("it has not died")
	}
	eventually(t, "sleep is there", func() bool { return len(marked(id)) > 0 })
	r.Remove("two")
	if left := marked(id); len(left) > 0 {
		t.Errorf("rm leaves %v", left)
	}
}

// TestRemoveUnmarked checks that a process with a cleared environment ends with its shell, detached
// or not, and whether the shell lives or not.
//
// Attack 234.
func TestRemoveUnmarked(t *testing.T) {
	for _, text := range []string{
		`env -i setsid sh -c "$0; sleep 1000; :" &`,
		`env -i setsid sh -c "trap '' TERM HUP INT; $0; sleep 1000; :" &`,
		`(env -i setsid sh -c "$0; sleep 1000; :" &)`,
		`(env -i setsid sh -c "trap '' TERM HUP INT; $0; sleep 1000; :" &)`,
		`(env -i setsid sh -c "$0; sleep 1000; :" &); exit`,
		`exec sh -c '(env -i setsid sh -c "$0; sleep 1000; :" &)'`,
	} {
		r := newFixture(t)
		s := r.shell(t, "one")
		file := filepath.Join(r.work, "pid")
		text = strings.ReplaceAll(text, "$0", "echo \\$\\$ >"+file)
		r.do(t.Context(), s, Command{Text: text})
		var pid string
		eventually(t, "it runs", func() bool {
			b, _ := os.ReadFile(file)
			pid = strings.TrimSpace(string(b))
			return pid != ""
		})
		r.text(t, r.shell(t, "other"), `:`)
		if !r.Remove("one") {
			t.Error("there was no shell")
		}
		if line := commandLine(pid); line != "" {
			t.Errorf("%q: %s is left", text, line)
		}
	}
}

// TestRemoveSupervisorKilled checks that a text in a sandbox cannot end its supervisor, so that a process with a cleared
// environment ends with its shell. The text kills all its ancestors, in different orders.
//
// Attacks 234, 239.
func TestRemoveSupervisorKilled(t *testing.T) {
	if sandbox.Supported() != nil {
		return
	}
	for _, kill := range []string{"kill -KILL $up", "kill -KILL $down", "kill -STOP $down; kill -KILL $up",
		"for p in $up; do kill -KILL $p; sleep 0.02; done", "for p in $down; do kill -KILL $p; sleep 0.02; done"} {
		r := confinedFixture(t)
		s := r.shell(t, "one")
		script := `p=$$; while [ "$p" -gt 1 ]; do p=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$p/status); kill -0 "$p" && up="$up $p" && down="$p $down"; done
			echo $$ >pid; ` + kill + `; sleep 1000; :`
		check(t, os.WriteFile(filepath.Join(r.work, "script"), []byte(script), 0o600))
		r.do(t.Context(), s, Command{Text: "cd " + r.work + "; (env -i setsid sh script >/dev/null 2>&1 &); sleep 1000"})
		pid := strings.TrimSpace(string(readFile(t, filepath.Join(r.work, "pid"))))
		if !r.Remove("one") {
			t.Error("there was no shell")
		}
		if line := commandLine(pid); line != "" {
			t.Errorf("%s: %s is left", kill, line)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	check(t, err)
	return b
}

// commandLine is the command line of a process, or empty once the process has ended.
func commandLine(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	return string(b)
}
