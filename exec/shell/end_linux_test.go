// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

var errLate = errors.New("late")

// TestTimeout is F002-008, F002-051, F002-053, F002-072 and K18. All processes that a text started end, even if they
// delay their end, and the shell keeps its state.
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
		{"stopped shell", `kill -STOP $$; echo outer`},
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

// marked returns the processes with the marker of a request: their PIDs and arguments.
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

// TestDeafPipe checks a shell that reads nothing more: the commands for it exceed the buffer of a
// pipe.
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

// TestTimeoutUnmarked checks a process that has cleared its environment, whose parent ends on INT
// before TERM and KILL end the rest. It ends with the text.
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

// TestBuiltin checks that a text that redefines commands of the shell's own driver blocks neither
// its caller nor the shell.
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

// TestUnreported checks texts after which bash runs but cannot report the exit code. Each call is answered, and
// the next text runs.
func TestUnreported(t *testing.T) { forEachBackend(t, testUnreported) }

func testUnreported(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	for _, text := range []string{
		`set -r`,
		`shopt -s extdebug; trap false DEBUG`,
		`ulimit -n 3`,
		`readonly __hostexec`,
		`alias '{'=:`,
		`alias '{'="echo 'open"`,
	} {
		got := r.do(t.Context(), s, Command{Text: text})
		var dead *TerminatedError
		if !errors.As(got.failed, &dead) {
			t.Errorf("%s: %+v, want a TerminatedError", text, got)
		}
		if got := r.text(t, s, `echo on`); got != (result{out: "on\n"}) {
			t.Errorf("after %s: %+v", text, got)
		}
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
