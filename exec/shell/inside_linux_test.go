// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
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

// TestWardenKilled is a text that ends its warden: the shell has died then, and a sweeper ends
// what it ran.
func TestWardenKilled(t *testing.T) {
	r := newRoom(t)
	r.in = here{r.birth.Env}
	s := r.shell(t, "one")
	r.text(t, s, `:`)
	dir, id := wardenDir(s), newID()
	ctx, cancel := patient(t.Context())
	defer cancel()
	_, err := s.Exec(ctx, r.birth, Command{ID: id, Text: `setsid sleep 1000 & kill -KILL $PPID; sleep 1000`}, Output{Out: io.Discard, Err: io.Discard})
	var dead *TerminatedError
	if !errors.As(err, &dead) {
		t.Errorf("the command ended with %v", err)
	}
	r.Remove("one")
	eventually(t, "nothing is left", func() bool {
		_, err := os.Stat(dir)
		return len(marked(id)) == 0 && errors.Is(err, fs.ErrNotExist)
	})
}

// liar is a container whose warden says what it likes, and then nothing any more.
type liar struct{ hello, says string }

func (liar) Name() string { return "liar" }

func (l liar) Start(context.Context, []string) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { // ends when the pipes are closed
		in := bufio.NewReader(inR)
		n := 0
		fmt.Fscanf(in, "%d\n", &n)
		in.Discard(n)
		io.WriteString(outW, l.hello)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				outW.Close()
				return
			}
			if id, ok := strings.CutPrefix(line, "open "); ok {
				io.WriteString(outW, strings.ReplaceAll(l.says, "ID", strings.TrimSpace(id)))
			}
		}
	}()
	return liarStdio{outR, inW, inR}, func(context.Context) (int, error) { return 7, nil }, nil
}

type liarStdio struct {
	*io.PipeReader
	in     *io.PipeWriter
	theirs *io.PipeReader
}

func (s liarStdio) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s liarStdio) Close() error {
	return errors.Join(s.in.Close(), s.theirs.Close(), s.PipeReader.Close())
}

// alone is a room without a host.
func alone(t *testing.T, c Container) *room {
	p := &Pool{Dir: filepath.Join(t.TempDir(), "shells"), Grace: 300 * time.Millisecond, ReplyTimeout: time.Second, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { check(t, p.Close()) })
	return &room{Pool: p, in: c}
}

// TestLiar is a container that does not keep to what is agreed: it is given up, and nobody
// waits for it, nor keeps what it says.
func TestLiar(t *testing.T) {
	const hello = "shell 5\n/bin/bash\n/bin/mv\n/tmp/x\n"
	long := strings.Repeat("a", 5000)
	tests := map[string]struct {
		liar
		born bool
	}{
		"no pid":           {liar{hello: "shell x\n/bin/bash\n/bin/mv\n/tmp/x\n"}, false},
		"init's pid":       {liar{hello: "shell 1\n/bin/bash\n/bin/mv\n/tmp/x\n"}, false},
		"no path":          {liar{hello: "shell 5\nbash\nmv\n/tmp/x\n"}, false},
		"a failure":        {liar{hello: "fail it will not\n"}, false},
		"a long line":      {liar{hello: long}, false},
		"nonsense":         {liar{hello, "what ever\n"}, true},
		"a long word":      {liar{hello, long + long}, true},
		"a bad code":       {liar{hello, "exit ID 256\n"}, true},
		"a negative code":  {liar{hello, "exit ID -1\n"}, true},
		"no number":        {liar{hello, "pid ID 12x\n"}, true},
		"a long pid":       {liar{hello, "pid ID 4294967301\n"}, true},
		"a long first pid": {liar{hello: "shell 4294967301\n/bin/bash\n/bin/mv\n/tmp/x\n"}, false},
		"too many":         {liar{hello, "size ID 1 2 3\n"}, true},
		"a bad death":      {liar{hello, "dead 256\n"}, true},
		"no base64":        {liar{hello, "data ID.out\n***\n.\n"}, true},
		"endless data":     {liar{hello, "data ID.out\n" + strings.Repeat(strings.Repeat("A", 76)+"\n", 25000)}, true},
		"a large chunk":    {liar{hello, "data ID.out\n" + strings.Repeat(strings.Repeat("A", 76)+"\n", 1500) + ".\n"}, true},
		"data of a stream": {liar{hello, "data ID.foo\nQQ==\n.\n"}, true},
		"an early death":   {liar{hello, "dead 3\n"}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := alone(t, tt.liar)
			s := r.shell(t, "one")
			got := r.do(t.Context(), s, Command{Text: "echo"})
			var dead *TerminatedError
			var none *ContainerError
			if tt.born && !errors.As(got.failed, &dead) || !tt.born && !errors.As(got.failed, &none) || len(got.out) > 3 {
				t.Errorf("it ended with %v, stdout %.40q", got.failed, got.out)
			}
		})
	}
}

// TestDeafContainer is one that never answers: who waits can leave, and the shell can be
// removed.
func TestDeafContainer(t *testing.T) {
	for _, l := range []liar{{}, {hello: "shell 5\n/bin/bash\n/bin/mv\n/tmp/x\n"}} {
		r := alone(t, l)
		s := r.shell(t, "one")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errLate)
		if got := r.do(ctx, s, Command{Text: "echo"}); !errors.Is(got.failed, errLate) {
			t.Errorf("it ended with %v", got.failed)
		}
		cancel()
		r.Remove("one")
	}
}

// counted is a liar, and counts what it is told to prune.
type counted struct {
	liar
	prunes *atomic.Int32
}

func (c counted) Start(ctx context.Context, args []string) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	stdio, exit, err := c.liar.Start(ctx, args)
	return countedStdio{stdio, c.prunes}, exit, err
}

type countedStdio struct {
	io.ReadWriteCloser
	prunes *atomic.Int32
}

func (s countedStdio) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("prune ")) {
		s.prunes.Add(1)
	}
	return s.ReadWriteCloser.Write(b)
}

// TestDeafOnce is a container that comes up and then does nothing it is told: it is given up
// at the first thing, and not waited for again with each that would follow.
func TestDeafOnce(t *testing.T) {
	c := counted{liar{hello: "shell 5\n/bin/bash\n/bin/mv\n/tmp/x\n"}, new(atomic.Int32)}
	r := alone(t, c)
	s := r.shell(t, "one")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errLate)
	defer cancel()
	if got := r.do(ctx, s, Command{Text: "echo"}); !errors.Is(got.failed, errLate) {
		t.Errorf("it ended with %v", got.failed)
	}
	if n := c.prunes.Load(); n != 1 || s.process.alive() {
		t.Errorf("told to prune %d times, alive %t", n, s.process.alive())
	}
}

// slow is a container that takes its time to start anything.
type slow struct {
	begun, release chan struct{}
	over           *atomic.Bool
}

func (slow) Name() string { return "slow" }

func (c slow) Start(context.Context, []string) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	close(c.begun)
	<-c.release
	c.over.Store(true)
	return nil, nil, errors.New("it has taken too long")
}

// TestCloseWhileBorn closes a pool while somebody has a shell start: Close waits for that, and
// no other starts.
func TestCloseWhileBorn(t *testing.T) {
	c := slow{make(chan struct{}), make(chan struct{}), new(atomic.Bool)}
	r := alone(t, c)
	s := r.shell(t, "one")
	first, second, closed := make(chan result, 1), make(chan result, 1), make(chan bool, 1)
	// ends when Start is released.
	go func() { first <- r.do(t.Context(), s, Command{Text: ":"}) }()
	<-c.begun
	// ends when the pool is closed.
	go func() {
		r.Close()
		closed <- c.over.Load()
	}()
	eventually(t, "the pool is about to close", func() bool {
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
	if got := <-second; !errors.Is(got.failed, ErrNotReady) {
		t.Errorf("a command that came later: %+v", got)
	}
}
