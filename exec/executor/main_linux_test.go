// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// TestMain runs the test binary also as a helper of package proctree, as a keeper and as a watcher.
func TestMain(m *testing.M) {
	if os.Args[0] == proctree.HelperName {
		os.Exit(proctree.Helper(os.Args))
	}
	switch os.Getenv("EXECUTOR_TEST_AS") {
	case "spawner":
		os.Exit(spawnerMain())
	case "hostile":
		os.Exit(hostileMain())
	case "watches":
		os.Exit(watchesMain())
	case "keeper":
		os.Exit(keeperMain())
	case "watcher":
		os.Exit(watcherMain())
	}
	proctree.DefaultSignals() // nohup and a script's & must not affect the tests
	os.Exit(m.Run())
}

const patience = 30 * time.Second

// newHost returns a Host that is closed at the end of the test.
func newHost(t testing.TB) *Host {
	t.Helper()
	h, closeHost := openHost(t)
	t.Cleanup(closeHost)
	return h
}

func openHost(t testing.TB) (*Host, func()) {
	t.Helper()
	h, err := NewHost(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h.Grace = 50 * time.Millisecond
	return h, func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// none returns Streams with all descriptors connected to /dev/null.
func none() Streams { return Streams{FD: [3]int{-1, -1, -1}} }

// sh returns a command that runs script in the current directory.
func sh(t testing.TB, script string, args ...string) Command {
	t.Helper()
	return Command{
		ID:   strings.ReplaceAll(t.Name(), "/", "-"),
		Path: "/bin/sh",
		Args: append([]string{"sh", "-c", script}, args...),
		// By default the race detector delays each exit, also of the monitor, by a second.
		Env: append(os.Environ(), "TERM=dumb", "GORACE=atexit_sleep_ms=0"),
		Dir: hold(t, "."),
	}
}

func hold(t testing.TB, name string) int {
	t.Helper()
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// output runs a script and returns what it wrote to stdout and stderr.
func output(t testing.TB, h *Host, c Command) (stdout, stderr string, st Status) {
	t.Helper()
	s := none()
	var out, err bytes.Buffer
	s.Out, s.Err = &out, &err
	st, rerr := h.Run(context.Background(), c, s)
	if rerr != nil {
		t.Fatalf("Run: %v", rerr)
	}
	return out.String(), err.String(), st
}

// screen is a Writer on which a test can wait for text.
type screen struct {
	mu   sync.Mutex // guards the field below
	more sync.Cond
	text []byte
}

func newScreen() *screen {
	s := &screen{}
	s.more.L = &s.mu
	return s
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b...)
	s.more.Broadcast()
	return len(b), nil
}

// expect waits for want, removes the text up to its end, and returns the text before it.
func (s *screen) expect(t testing.TB, want string) string {
	t.Helper()
	before, ok := s.await(want)
	if !ok {
		t.Fatalf("the screen shows %q, want %q", before, want)
	}
	return before
}

func (s *screen) await(want string) (before string, ok bool) {
	late := false
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.more.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if before, after, ok := bytes.Cut(s.text, []byte(want)); ok {
			s.text = bytes.Clone(after)
			return string(before), true
		}
		if late {
			return string(s.text), false
		}
		s.more.Wait()
	}
}

// call is a command that runs concurrently with the test.
type call struct {
	cancel  context.CancelCauseFunc
	in      *io.PipeWriter
	out     *screen
	signals chan Delivery
	resize  chan Winsize
	stopped chan struct{}
	pid     chan int
	end     chan result
}

type result struct {
	st  Status
	err error
}

// launch runs c with copied streams, on a terminal of size w unless w is nil.
func launch(t testing.TB, h *Host, c Command, w *Winsize) *call {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	in, keys := io.Pipe()
	run := &call{
		cancel: cancel, in: keys, out: newScreen(), signals: make(chan Delivery), resize: make(chan Winsize),
		stopped: make(chan struct{}, 8), pid: make(chan int, 1), end: make(chan result, 1),
	}
	s := none()
	s.In, s.Out, s.SameOut, s.TTY = in, run.out, w == nil, w
	s.Resize, s.Signals = run.resize, run.signals
	s.Started = func(pid int) { run.pid <- pid }
	s.Stopped = func() { run.stopped <- struct{}{} }
	// ends when the command has; wait receives its value.
	go func() {
		st, err := h.Run(ctx, c, s)
		run.end <- result{st, err}
	}()
	t.Cleanup(func() { cancel(nil) })
	return run
}

func (c *call) wait(t testing.TB) (Status, error) {
	t.Helper()
	select {
	case r := <-c.end:
		return r.st, r.err
	case <-time.After(patience):
		t.Fatal("Run does not return")
		return Status{}, nil
	}
}

func (c *call) typed(t testing.TB, keys string) {
	t.Helper()
	if _, err := io.WriteString(c.in, keys); err != nil {
		t.Fatal(err)
	}
}

// stateOf returns the letter of a process's state, or "" if the process does not exist.
func stateOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

func entries(t testing.TB, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
