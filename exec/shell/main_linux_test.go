// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case proctree.HelperName:
		os.Exit(proctree.Helper(os.Args))
	case ProgramName:
		os.Exit(Serve(os.Args))
	}
	proctree.DefaultSignals() // nohup, or a script's &, is not what is tested
	os.Exit(m.Run())
}

// patience is the minimum time that a test waits. After that, the machine must be able to start a number of programs,
// steps, one by one, before the test gives up. So a loaded machine, on which programs start slowly, does not decide the
// result.
const (
	patience = time.Minute
	steps    = 1000
)

// patient returns a context that ends after the longest time that anything here waits.
func patient(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	// ends with ctx, which the caller ends.
	go func() {
		defer cancel()
		select {
		case <-time.After(patience):
		case <-ctx.Done():
		}
		for range steps {
			if ctx.Err() != nil {
				return
			}
			_ = exec.CommandContext(ctx, "bash", "-c", ":").Run() // how it ends tells nothing
		}
	}()
	return ctx, cancel
}

// fixture is a table of shells with a host to run them, and a directory to start in.
type fixture struct {
	*Table
	work   string
	config StartConfig
	in     Container // nil: on this host
	tmp    string    // of the program
}

// remote reports whether the program runs the shells.
func (r *fixture) remote() bool { return r.in != nil || r.config.Sandbox != nil }

// forEachBackend runs a test on the host, over the stdio of the program as in a container, and in a sandbox.
func forEachBackend(t *testing.T, test func(*testing.T, *fixture)) {
	t.Run("host", func(t *testing.T) { test(t, newFixture(t)) })
	t.Run("inside", func(t *testing.T) {
		r := newFixture(t)
		r.in = here{t, r.config.Env}
		r.config.Env = nil
		r.Table.ReplyTimeout = 10 * patience // the tests give up before
		test(t, r)
	})
	if sandbox.Supported() == nil {
		t.Run("sandbox", func(t *testing.T) { test(t, confinedFixture(t)) })
	}
}

// confinedFixture has shells in a sandbox that may write only the fixture's directories.
func confinedFixture(t *testing.T) *fixture {
	r := newFixture(t)
	r.Table.ReplyTimeout = 10 * patience // the tests give up before
	self, err := os.Executable()
	check(t, err)
	r.Table.Program = func() (string, error) { return self, nil }
	r.tmp = t.TempDir()
	r.config.Env = append(r.config.Env, "TMPDIR="+r.tmp)
	spec := sandbox.Spec{Paths: append(slices.Clone(sandbox.System), sandbox.Path{Name: self, Access: sandbox.Execute})}
	for _, dir := range []string{r.work, r.tmp, osenv.Get(r.config.Env, "HOME")} {
		spec.Paths = append(spec.Paths, sandbox.Path{Name: dir, Access: sandbox.Write})
	}
	r.config.Sandbox, err = sandbox.Prepare(spec)
	check(t, err)
	t.Cleanup(func() { r.config.Sandbox.Close() })
	return r
}

// here is a container that is none: its processes are children of this one.
type here struct {
	t   testing.TB
	env []string
}

func (here) Name() string { return "here" }

// Program is this test.
func (here) Program(context.Context) (io.ReadCloser, int64, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	return f, fi.Size(), err
}

func (h here) Start(_ context.Context, args []string, root bool) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	if root {
		return nil, nil, errors.New("its user could not write anywhere")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = h.env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan int, 1)
	go func() { // ends with the process
		st, err := cmd.Process.Wait()
		if err != nil {
			h.t.Error(err)
		}
		ended <- st.ExitCode()
	}()
	exit := func(ctx context.Context) (int, error) {
		select {
		case code := <-ended:
			return code, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return stdio{out, in}, exit, nil
}

type stdio struct {
	io.ReadCloser
	in io.WriteCloser
}

func (s stdio) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s stdio) Close() error                { return errors.Join(s.in.Close(), s.ReadCloser.Close()) }

func newFixture(t testing.TB) *fixture {
	t.Helper()
	host, err := executor.NewHost(slog.New(slog.DiscardHandler))
	check(t, err)
	host.Grace = 300 * time.Millisecond
	bash, err := exec.LookPath("bash")
	check(t, err)
	r := &fixture{work: t.TempDir(), tmp: os.TempDir(), config: StartConfig{Path: bash, Env: environ(os.Environ(), []string{"HOME=" + t.TempDir()})}}
	r.Table = &Table{Runner: host, Dir: filepath.Join(t.TempDir(), "shells"), Grace: host.Grace, ReplyTimeout: patience, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() {
		check(t, r.Table.Close())
		check(t, host.Close())
	})
	return r
}

// shell makes a shell of the fixture.
func (r *fixture) shell(t testing.TB, name string) *Shell {
	t.Helper()
	check(t, r.Create(name, Options{Dir: r.work, In: r.in}))
	s, err := r.Find(name)
	check(t, err)
	return s
}

// result is what came of a command.
type result struct {
	code     int
	out, err string
	failed   error
}

// Exec runs c in the shell itself, and Start in a copy of it.
func (s *Shell) Exec(ctx context.Context, b StartConfig, c Command, o Output) (int, error) {
	return s.Run(ctx, b, c, o)
}

func (s *Shell) Start(ctx context.Context, b StartConfig, c Command, o Output) (int, error) {
	c.Copy = true
	return s.Run(ctx, b, c, o)
}

// do runs c to its end.
func (r *fixture) do(ctx context.Context, s *Shell, c Command) result {
	return r.run(ctx, s.Exec, c)
}

func (r *fixture) run(ctx context.Context, how func(context.Context, StartConfig, Command, Output) (int, error), c Command) (got result) {
	ctx, cancel := patient(ctx)
	defer cancel()
	c.ID = newID()
	var out, errs bytes.Buffer
	got.code, got.failed = how(ctx, r.config, c, Output{Out: &out, Err: &errs})
	got.out, got.err = out.String(), errs.String()
	return got
}

// text runs a text that has to get as far as a status.
func (r *fixture) text(t testing.TB, s *Shell, text string) result {
	t.Helper()
	got := r.do(t.Context(), s, Command{Text: text})
	if got.failed != nil {
		t.Fatalf("%q: %v, stderr %q", text, got.failed, got.err)
	}
	return got
}

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until cond holds. It is for what no event tells of.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := patient(context.Background())
	defer cancel()
	for !cond() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("not within %s and %d steps: %s", patience, steps, what)
		}
	}
}
