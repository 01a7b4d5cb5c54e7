// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestProgramKilled runs a text that ends the program that runs it: the shell counts as dead, and
// its processes are ended.
//
// Attack 238.
func TestProgramKilled(t *testing.T) {
	r := newFixture(t)
	r.in = here{t, r.config.Env}
	s := r.shell(t, "one")
	// The program is killed first: if it sees that the supervisor has gone, it ends this text.
	for _, supervisor := range []string{"", "$PPID"} {
		r.text(t, s, `:`)
		dirs, id := containerDirs(r, s), newID()
		ctx, cancel := patient(t.Context())
		text := `setsid sleep 1000 & read -r _ _ _ up _ <"/proc/$PPID/stat"; kill -KILL "$up" ` + supervisor + `; sleep 1000`
		_, err := s.Exec(ctx, r.config, Command{ID: id, Text: text}, Output{Out: io.Discard, Err: io.Discard})
		cancel()
		var dead *TerminatedError
		if !errors.As(err, &dead) {
			t.Errorf("the command ended with %v", err)
		}
		eventually(t, "nothing is left", func() bool {
			for _, dir := range dirs {
				if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
					return false
				}
			}
			return len(marked(id)) == 0
		})
	}
	r.Remove("one")
}

// scripted is a container that sends arbitrary data, and then nothing more. It has data for bash, for the program when
// it is set up, and for the program when a command is to run.
type scripted struct {
	bash, ready, says string
	cancels           *atomic.Int32 // counts
}

func (scripted) Name() string { return "scripted" }

func (scripted) Program(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader("program")), 7, nil
}

func (l scripted) Start(_ context.Context, args []string, _ bool) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { // ends when the pipes are closed
		defer outW.Close()
		if args[0] == "bash" {
			io.WriteString(outW, l.bash)
			io.Copy(io.Discard, inR)
			return
		}
		var f frame
		for readFrame(inR, &f, hostLimit) == nil {
			switch f.kind {
			case frameSetup:
				io.WriteString(outW, l.ready)
			case frameRun:
				io.WriteString(outW, l.says)
			case frameCancel:
				l.cancels.Add(1)
			}
		}
	}()
	return scriptedStdio{outR, inW, inR}, func(context.Context) (int, error) { return 7, nil }, nil
}

type scriptedStdio struct {
	*io.PipeReader
	in     *io.PipeWriter
	theirs *io.PipeReader
}

func (s scriptedStdio) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s scriptedStdio) Close() error {
	return errors.Join(s.in.Close(), s.theirs.Close(), s.PipeReader.Close())
}

// alone is a fixture without a host.
func alone(t *testing.T, c Container) *fixture {
	p := &Table{Dir: filepath.Join(t.TempDir(), "shells"), Grace: 300 * time.Millisecond, ReplyTimeout: time.Second, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { check(t, p.Close()) })
	return &fixture{Table: p, in: c}
}

// says is a frame of a container for the first command.
func says(kind frameKind, payload string) string {
	return string(appendFrame(nil, kind, 1, []byte(payload)))
}

// TestInvalidContainer checks a container that breaks the protocol: the shell is dropped, nobody
// waits for it, and its data is not kept.
//
// Attack 237.
func TestInvalidContainer(t *testing.T) {
	const bash = "at /tmp/x\nready\n"
	ready, started := says(frameReady, ""), says(frameStarted, "\x00\x00\x00\x00\x00\x00\x00\x05")
	long := strings.Repeat("a", maxOutput)
	tests := map[string]struct {
		scripted
		starts bool
	}{
		"no path":             {scripted{bash: "at x\nready\n"}, false},
		"a failure":           {scripted{bash: "fail it will not\n"}, false},
		"noexec":              {scripted{bash: "fail noexec\n"}, false},
		"a long line":         {scripted{bash: long}, false},
		"a bash that ends":    {scripted{bash: "at /tmp/x\nfail full\n"}, false},
		"a refusal":           {scripted{bash: bash, ready: says(frameRefused, "no\x1b[2J")}, false},
		"a long refusal":      {scripted{bash: bash, ready: says(frameRefused, long)}, false},
		"no ready":            {scripted{bash: bash, ready: started}, false},
		"no kind":             {scripted{bash: bash, ready: ready, says: says(0, "")}, true},
		"a host's kind":       {scripted{bash: bash, ready: ready, says: says(frameRun, "{}")}, true},
		"an endless frame":    {scripted{bash: bash, ready: ready, says: "\x0a\x00\x00\x00\x01\xff\xff\xff\xff"}, true},
		"ready again":         {scripted{bash: bash, ready: ready, says: ready}, true},
		"started twice":       {scripted{bash: bash, ready: ready, says: started + started}, true},
		"a long pid":          {scripted{bash: bash, ready: ready, says: says(frameStarted, "\x00\x00\x00\x01\x00\x00\x00\x05")}, true},
		"a negative pid":      {scripted{bash: bash, ready: ready, says: says(frameStarted, "\xff\xff\xff\xff\xff\xff\xff\xff")}, true},
		"a short pid":         {scripted{bash: bash, ready: ready, says: says(frameStarted, "5")}, true},
		"a long pid of bash":  {scripted{bash: bash, ready: ready, says: says(frameState, "\x00\x00\x00\x01\x00\x00\x00\x05/")}, true},
		"a short state":       {scripted{bash: bash, ready: ready, says: says(frameState, "/")}, true},
		"a bad code":          {scripted{bash: bash, ready: ready, says: says(frameDone, `{"How":"exit","Code":256}`)}, true},
		"a negative code":     {scripted{bash: bash, ready: ready, says: says(frameDone, `{"How":"exit","Code":-1}`)}, true},
		"no result":           {scripted{bash: bash, ready: ready, says: says(frameDone, `exit`)}, true},
		"a result of no kind": {scripted{bash: bash, ready: ready, says: says(frameDone, `{}`)}, true},
		"an early result":     {scripted{bash: bash, ready: ready, says: says(frameDone, `{"How":"canceled"}`)}, true},
		"early output":        {scripted{bash: bash, ready: ready, says: says(frameStdout, "x")}, true},
		"a death":             {scripted{bash: bash, ready: ready, says: says(frameDone, `{"How":"terminated","Code":3}`)}, true},
		"the end":             {scripted{bash: bash, ready: ready, says: says(frameOver, "")}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := alone(t, tt.scripted)
			s := r.shell(t, "one")
			got := r.do(t.Context(), s, Command{Text: "echo"})
			var dead *TerminatedError
			var none *ContainerError
			if tt.starts && !errors.As(got.failed, &dead) || !tt.starts && !errors.As(got.failed, &none) || len(got.out) > outputAhead {
				t.Errorf("it ended with %v, stdout %.40q", got.failed, got.out)
			}
			if got.failed != nil && strings.ContainsAny(got.failed.Error(), "\x1b") {
				t.Errorf("the error is %q", got.failed)
			}
		})
	}
}

// TestMuchOutput is a container that sends more output than it may: no more than that is in memory.
//
// Attack 237.
func TestMuchOutput(t *testing.T) {
	frames := says(frameStarted, "\x00\x00\x00\x00\x00\x00\x00\x05")
	frames += strings.Repeat(says(frameStdout, strings.Repeat("a", maxOutput)), 2*outputAhead/maxOutput+1)
	r := alone(t, scripted{bash: "at /tmp/x\nready\n", ready: says(frameReady, ""), says: frames})
	s := r.shell(t, "one")
	slow, ended := make(stalled), make(chan error)
	// Ends with the command.
	go func() {
		_, err := s.Exec(t.Context(), r.config, Command{ID: newID(), Text: "yes"}, Output{Out: slow, Err: slow})
		ended <- err
	}()
	eventually(t, "the container is given up", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.process != nil && !s.process.usable()
	})
	close(slow)
	var dead *TerminatedError
	if err := <-ended; !errors.As(err, &dead) {
		t.Errorf("it ended with %v", err)
	}
}

// TestSilentContainer checks a container that never answers: callers can leave, and the shell can
// be removed.
//
// Attack 237.
func TestSilentContainer(t *testing.T) {
	const bash = "at /tmp/x\nready\n"
	for _, l := range []scripted{{}, {bash: "at /tmp/x\n"}, {bash: bash}, {bash: bash, ready: says(frameReady, ""), cancels: new(atomic.Int32)}} {
		r := alone(t, l)
		s := r.shell(t, "one")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errLate)
		if got := r.do(ctx, s, Command{Text: "echo"}); !errors.Is(got.failed, errLate) {
			t.Errorf("it ended with %v", got.failed)
		}
		cancel()
		if s.process != nil && (s.process.usable() || l.cancels.Load() != 1) {
			t.Errorf("usable %t, told to cancel %d times", s.process.usable(), l.cancels.Load())
		}
		r.Remove("one")
	}
}

// slow is a container that takes its time to start anything.
type slow struct {
	begun, release chan struct{}
	over           *atomic.Bool
}

func (slow) Name() string { return "slow" }

func (slow) Program(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader("")), 0, nil
}

func (c slow) Start(context.Context, []string, bool) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	close(c.begun)
	<-c.release
	c.over.Store(true)
	return nil, nil, errors.New("it has taken too long")
}

// TestCloseWhileStarting closes a table during the start of a shell: Close waits for the start, and
// no other shell starts.
func TestCloseWhileStarting(t *testing.T) {
	c := slow{make(chan struct{}), make(chan struct{}), new(atomic.Bool)}
	r := alone(t, c)
	s := r.shell(t, "one")
	first, second, closed := make(chan result, 1), make(chan result, 1), make(chan bool, 1)
	// ends when Start is released.
	go func() { first <- r.do(t.Context(), s, Command{Text: ":"}) }()
	<-c.begun
	// ends when the table is closed.
	go func() {
		r.Close()
		closed <- c.over.Load()
	}()
	eventually(t, "the table is about to close", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.removed
	})
	// ends with the first.
	go func() { second <- r.do(t.Context(), s, Command{Text: ":"}) }()
	close(c.release)
	if !<-closed {
		t.Error("it was closed while a shell was starting")
	}
	if got := <-first; got.failed == nil {
		t.Errorf("the first command: %+v", got)
	}
	if got := <-second; !errors.Is(got.failed, ErrNoShell) {
		t.Errorf("a command that came later: %+v", got)
	}
}
