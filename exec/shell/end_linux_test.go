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
	"time"
)

var errLate = errors.New("late")

// TestTimeout is F002-008, F002-051, F002-053, F002-072 and K18: what a text started ends, in
// whatever way it is held up, and the shell stays with what it had.
func TestTimeout(t *testing.T) { forEachBackend(t, testTimeout) }

func testTimeout(t *testing.T, r *fixture) {
	tests := []struct{ name, text string }{
		{"a child", `sleep 300`},
		{"a list", `sleep 300; echo more; sleep 300`},
		{"lines", "sleep 300\necho outer\nsleep 300"},
		{"a loop in the shell", `while :; do :; done`},
		{"a loop of children", `for i in 1 2 3 4 5 6 7 8 9; do sleep 300; done`},
		{"a subshell", `( sleep 300; echo sub; sleep 300 ); echo outer`},
		{"a function in a pipe", `g() { sleep 300; echo f; sleep 300; }; g | cat; echo outer`},
		{"a pipe", `sleep 300 | cat; echo outer`},
		{"a substitution", `y=$(sleep 300; echo z; sleep 300); echo outer`},
		{"read", `mkfifo fifo$RANDOM; read z <fifo*; echo outer`},
		{"wait", `sleep 300 & wait; echo outer`},
		{"deaf to INT", `sh -c 'trap "" INT; sleep 300; sleep 300'; echo outer`},
		{"deaf to INT and TERM", `sh -c 'trap "" INT TERM; while :; do sleep 1; done'; echo outer`},
		{"in the background", `sleep 301 & sh -c 'setsid sleep 301 & sleep 300'`},
		{"double forks", `( ( setsid sleep 301 & ) & ); sleep 300`},
		{"stopped", `sh -c 'kill -STOP $$'; echo outer`},
		{"with scope", `sleep 300`},
	}
	s := r.shell(t, "one")
	r.text(t, s, `still=here; first=$$; sleep 1000 & before=$!`)
	for _, tt := range tests {
		late, done := patient(t.Context()) // all of them sleep longer
		ctx, cancel := context.WithCancelCause(late)
		c := Command{Text: "echo partial; " + tt.text}
		if tt.name == "with scope" {
			c.Env, c.Dir = []string{"still=not"}, "/"
		}
		began := make(lines, 10)
		go func() { // ends with the command
			<-began
			cancel(errLate)
		}()
		c.ID = newID()
		var out bytes.Buffer
		_, err := s.Exec(ctx, r.config, c, Output{Out: both{&out, began}, Err: &out})
		held := late.Err()
		cancel(nil)
		done()
		if !errors.Is(err, errLate) || !strings.HasPrefix(out.String(), "partial\n") || strings.Contains(out.String(), "outer") {
			t.Errorf("%s: %v, output %q", tt.name, err, out.String())
		}
		if held != nil {
			t.Errorf("%s: the end of it took too long", tt.name)
		}
		if left := marked(c.ID); len(left) > 0 {
			t.Errorf("%s: left %v", tt.name, left)
		}
		got := r.do(t.Context(), s, Command{Text: `echo $still $((first == $$)) ${PWD##*/}; kill -0 $before`})
		if want := "here 1 " + base(r.work) + "\n"; got.out != want || got.err != "" || got.failed != nil {
			t.Fatalf("after %s the shell says %+v", tt.name, got)
		}
	}
}

type both struct {
	a interface{ Write([]byte) (int, error) }
	b lines
}

func (w both) Write(b []byte) (int, error) {
	w.b.Write(b)
	return w.a.Write(b)
}

func base(dir string) string { return dir[strings.LastIndexByte(dir, '/')+1:] }

// marked returns what runs with the marker of a request.
func marked(id string) (found []string) {
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		env, err := os.ReadFile("/proc/" + p.Name() + "/environ")
		if err == nil && bytes.Contains(env, []byte("HOSTEXEC_REQUEST_ID="+id)) {
			line, _ := os.ReadFile("/proc/" + p.Name() + "/cmdline")
			found = append(found, p.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestUninterruptibleCommand is a shell that a text has made deaf: it cannot be had back, and another is born.
func TestUninterruptibleCommand(t *testing.T) { forEachBackend(t, testNotInterruptible) }

func testNotInterruptible(t *testing.T, r *fixture) {
	r.ReplyTimeout = 5 * time.Second
	s := r.shell(t, "one")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errLate)
	defer cancel()
	got := r.do(ctx, s, Command{Text: `trap '' INT HUP TERM; while :; do :; done`})
	if !errors.Is(got.failed, errLate) {
		t.Errorf("it ended with %v", got.failed)
	}
	if got := r.text(t, s, `echo back`).out; got != "back\n" {
		t.Errorf("the next says %q", got)
	}
}

// TestCommandIsFast is F002-073.
func TestCommandIsFast(t *testing.T) { forEachBackend(t, testFast) }

func testFast(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	if got := r.do(ctx, s, Command{Text: `echo quick`}); got.out != "quick\n" || got.failed != nil {
		t.Errorf("%+v", got)
	}
}

// TestDeath is F002-039 to F002-041 and F002-052: told at once, and then a new shell.
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

// TestRemove is F002-070: whatever runs ends, a second time does nothing, and what comes
// later is not ready.
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
	if err := <-done; !errors.As(err, &dead) {
		t.Errorf("the command ended with %v", err)
	}
	if left := marked(id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := r.Find("one"); !errors.Is(err, ErrNotReady) {
		t.Errorf("it is found: %v", err)
	}
	if got := r.do(t.Context(), s, Command{Text: `:`}); !errors.Is(got.failed, ErrNotReady) {
		t.Errorf("it runs on: %+v", got)
	}
	check(t, r.Create("one", Options{In: r.in}))
}

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
	if env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err != nil || !bytes.HasPrefix(env, []byte("bash")) {
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

// TestRemoveDead is that rm ends what a shell has left that has died, or two of them, in the
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

// TestCopyKilled is a copy that is killed with what was to tell of it, while its shell lives.
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

// TestDeafPipe is a shell that hears nothing any more, nor reads: what it is told is more than a
// pipe holds.
//
// Attack 192.
func TestDeafPipe(t *testing.T) { forEachBackend(t, testDeafPipe) }

func testDeafPipe(t *testing.T, r *fixture) {
	r.ReplyTimeout = 3 * time.Second
	s := r.shell(t, "one")
	r.text(t, s, ":")
	first := s.process
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errLate)
	defer cancel()
	name := strings.Repeat("x", maxNames)
	if got := r.do(ctx, s, Command{Text: `trap '' INT HUP TERM; while :; do :; done`, Env: []string{name + "=1"}}); !errors.Is(got.failed, errLate) {
		t.Errorf("it ended with %v", got.failed)
	}
	r.Remove("one")
	if first.hasLeftovers() {
		t.Error("something is left")
	}
	if got := r.do(t.Context(), r.shell(t, "two"), Command{Text: ":", Env: []string{name + "x=1"}}); !errors.Is(got.failed, errNames) {
		t.Errorf("longer names: %v", got.failed)
	}
}

// TestRemoveUnmarked: what has cleared its environment ends with the shell, detached or not, and
// whether the shell still lives or not.
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

// TestTimeoutUnmarked: INT ends the parent of what has cleared its environment, before TERM and KILL
// end the rest. It ends with the text all the same.
func TestTimeoutUnmarked(t *testing.T) {
	r := newFixture(t)
	s := r.shell(t, "one")
	text := `bash -c 'setsid env -i sh -c "trap \"\" INT TERM; echo \$\$; exec sleep 1000" & wait'`
	ctx, cancel := context.WithCancelCause(t.Context())
	began := make(lines, 10)
	go func() { // ends with the command
		<-began
		cancel(errLate)
	}()
	var out bytes.Buffer
	_, err := s.Exec(ctx, r.config, Command{Text: text, ID: newID()}, Output{Out: both{&out, began}, Err: &out})
	if !errors.Is(err, errLate) {
		t.Errorf("it ended with %v: %q", err, out.String())
	}
	if line := commandLine(strings.TrimSpace(out.String())); line != "" {
		t.Errorf("%q is left", line)
	}
}

// commandLine is that of a process; it is empty once the process has ended.
func commandLine(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	return string(b)
}

// TestBuiltin: a text that redefines what the shell is driven by hangs neither its caller nor the
// shell.
func TestBuiltin(t *testing.T) { forEachBackend(t, testBuiltin) }

func testBuiltin(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	for _, text := range []string{
		`builtin() { :; }`,
		`builtin() { builtin "$@"; }; export -f builtin`,
		`builtin() { return 1; }; unset() { :; }; printf() { :; }; eval() { :; }; .() { :; }; declare() { :; }`,
		`enable -n builtin`,
		`set -e; builtin() { return 1; }; :`,
		`set -euo pipefail; unset() { return 1; }; builtin() { return 3; }; :`,
	} {
		if got := r.text(t, s, "kept=kept; "+text); got.code != 0 || got.err != "" {
			t.Errorf("%s: %+v", text, got)
		}
		if got := r.text(t, s, `echo "$kept"`); got.out != "kept\n" || got.err != "" {
			t.Errorf("after %s: %+v", text, got)
		}
		r.text(t, s, `set +euo pipefail; \unset -f unset declare printf eval .`)
	}
	got := r.do(t.Context(), s, Command{Text: `builtin() { :; }; readonly -f builtin`})
	var dead *TerminatedError
	if !errors.As(got.failed, &dead) {
		t.Errorf("a shell that cannot be repaired: %+v", got)
	}
	if got := r.text(t, s, `echo "$kept"`); got.out != "\n" {
		t.Errorf("the next shell: %+v", got)
	}
}

// TestFullDisk: a shell that cannot write how its text has ended tells so all the same, and goes
// on. A limit of what it may write does as a full disk would.
func TestFullDisk(t *testing.T) { forEachBackend(t, testFullDisk) }

func testFullDisk(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	for _, how := range []func(context.Context, StartConfig, Command, Output) (int, error){s.Exec, s.Start, s.Exec} {
		got := r.run(t.Context(), how, Command{Text: `trap '' XFSZ; ulimit -S -f 0; kept=$((kept + 1)); (exit 7)`})
		if got.code != 7 || got.failed != nil {
			t.Errorf("%+v, want code 7", got)
		}
	}
	if got := r.text(t, s, `ulimit -S -f unlimited; echo $kept`); got.out != "2\n" {
		t.Errorf("with space again: %+v", got)
	}
}
