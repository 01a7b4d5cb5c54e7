// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

const socketVariable = "GITPUSH_TEST_SOCKET"

// TestMain runs the test binary also as the remote helper of the container's git.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "git-remote-hostexec" {
		os.Exit(helperMain())
	}
	proctree.DefaultSignals() // nohup and a script's & must not affect the tests
	os.Exit(m.Run())
}

// helperMain copies stdin and stdout to the test, and exits with the code that the test sends.
func helperMain() int {
	at := os.Getenv(socketVariable)
	conn, err := net.Dial("unix", at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// ends with git, which closes stdin; this process does not wait for it.
	go func() {
		io.Copy(conn, os.Stdin)
		conn.(*net.UnixConn).CloseWrite()
	}()
	io.Copy(os.Stdout, conn)
	code, _ := os.ReadFile(at + ".code")
	n, _ := strconv.Atoi(string(code))
	return n
}

// fixture is a host with a remote, and a container's git that reaches it.
type fixture struct {
	testing.TB
	dir, remote string
	env         []string // of the container's git

	mu        sync.Mutex // guards the fields below while calls are served
	call      Call
	asked     []Update
	complaint bytes.Buffer
	ended     []int
	authorize func(Update) error // nil permits everything
}

// newFixture makes a host whose remote has one commit on main. format is the object format.
func newFixture(t testing.TB, format string) *fixture {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	host, err := executor.NewHost(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{TB: t, dir: t.TempDir()}
	f.remote = filepath.Join(f.dir, "remote.git")
	home := filepath.Join(f.dir, "home")
	for _, d := range []string{home, filepath.Join(f.dir, "bin"), filepath.Join(f.dir, "seed")} {
		f.check(os.Mkdir(d, 0o755))
	}
	self, err := os.Executable()
	f.check(err)
	f.check(os.Symlink(self, filepath.Join(f.dir, "bin", "git-remote-hostexec")))
	f.env = []string{
		"GORACE=atexit_sleep_ms=0", // by default the race detector delays each exit by a second
		"PATH=" + filepath.Join(f.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + f.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", socketVariable + "=" + f.dir + "/socket",
	}
	f.call = Call{
		Runner: host, ID: "0123456789abcdef", Git: git, Env: append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1"),
		Remote: Remote{"origin", f.remote}, Dir: filepath.Join(f.dir, "state"), Authorize: f.decide,
	}
	f.listen()
	f.sh(f.dir, "git init -q --bare --object-format="+format+" -b main remote.git; cd seed; git init -q --object-format="+format+" -b main; echo 1 >f; git add f; git commit -qm one; git push -q ../remote.git main")
	return f
}

// ssh has the host reach the remote by a program in the place of ssh. Git at the remote's end has another home.
func (f *fixture) ssh() {
	at := filepath.Join(f.dir, "ssh")
	f.check(os.WriteFile(at, []byte("#!/bin/sh\nfor last; do :; done\nHOME=/nonexistent exec sh -c \"$last\"\n"), 0o755))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call.Env = append(f.call.Env, "GIT_SSH_COMMAND="+at, "GIT_SSH_VARIANT=ssh")
	f.call.Remote.URL = "ssh://git@example.org" + f.remote
}

func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// decide implements Authorize.
func (f *fixture) decide(_ context.Context, u Update) (func(int), error) {
	f.mu.Lock()
	f.asked = append(f.asked, u)
	authorize := f.authorize
	f.mu.Unlock()
	if authorize != nil {
		if err := authorize(u); err != nil {
			return nil, err
		}
	}
	return func(code int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = append(f.ended, code)
	}, nil
}

// answer has later updates answered by authorize.
func (f *fixture) answer(authorize func(Update) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.authorize = authorize
}

// decided returns how many updates were decided.
func (f *fixture) decided() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// last returns the update that was asked about last, or fails.
func (f *fixture) last() Update {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		f.Fatal("no update was decided")
	}
	return f.asked[len(f.asked)-1]
}

// limit changes the limits of later calls.
func (f *fixture) limit(change func(*Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.call)
}

// listen serves calls of the container's git until the test ends.
func (f *fixture) listen() {
	ln, err := net.Listen("unix", filepath.Join(f.dir, "socket"))
	f.check(err)
	ctx, cancel := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	// ends when ln is closed.
	calls.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			// ends with its connection, or with ctx.
			calls.Go(func() { f.serve(ctx, conn) })
		}
	})
	f.Cleanup(func() {
		cancel()
		ln.Close()
		calls.Wait()
	})
}

// input is the stdin of a call. Closing it leaves stdout.
type input struct{ *net.UnixConn }

func (i input) Close() error { return i.CloseRead() }

func (f *fixture) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	f.mu.Lock()
	call := f.call
	f.mu.Unlock()
	code, err := call.Serve(ctx, input{conn.(*net.UnixConn)}, conn, f)
	if err != nil && !errors.Is(err, context.Canceled) {
		f.Errorf("serve: %v", err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "socket.code"), []byte(strconv.Itoa(code)), 0o600); err != nil && ctx.Err() == nil {
		f.Error(err)
	}
}

// Write keeps what the helper complains about.
func (f *fixture) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.complaint.Write(b)
}

func (f *fixture) complained() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.complaint.String()
}

// try runs a script of the container's, and returns its output and exit code.
func (f *fixture) try(dir, script string) (string, int) {
	f.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = dir, f.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// sh runs a script that has to succeed.
func (f *fixture) sh(dir, script string) string {
	f.Helper()
	out, code := f.try(dir, script)
	if code != 0 {
		f.Fatalf("%s: exit code %d\n%s%s", script, code, out, f.complained())
	}
	return strings.TrimSpace(out)
}

// clone returns a clone of the remote that the container made.
func (f *fixture) clone(args string) string {
	f.Helper()
	f.sh(f.dir, "git clone -q "+args+" hostexec::origin work")
	return filepath.Join(f.dir, "work")
}

// id returns the id of a ref of the remote, or "".
func (f *fixture) id(ref string) string {
	f.Helper()
	out, _ := f.try(f.remote, "git rev-parse -q --verify "+ref)
	return strings.TrimSpace(out)
}

// empty fails the test if a quarantine is left.
func (f *fixture) empty() {
	f.Helper()
	left, err := filepath.Glob(filepath.Join(f.call.Dir, "incoming-*"))
	f.check(err)
	if len(left) > 0 {
		f.Errorf("left over: %q", left)
	}
}
