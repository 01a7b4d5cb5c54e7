// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// confined is a command that a test confines to a workspace.
type confined struct {
	host      *Host
	workspace string // may be written
	secrets   string // may not even be read
}

// newConfined returns nil on a kernel that cannot confine programs, after a check that nothing is prepared there.
// TestSupported of exec/sandbox fails if it returns nil on another kernel.
func newConfined(t testing.TB) *confined {
	t.Helper()
	if err := sandbox.Supported(); err != nil {
		t.Log(err)
		if _, err := sandbox.Prepare(sandbox.Spec{}); !errors.Is(err, sandbox.ErrUnsupported) {
			t.Errorf("Prepare = %v, want ErrUnsupported", err)
		}
		return nil
	}
	c := &confined{host: newHost(t), workspace: t.TempDir(), secrets: t.TempDir()}
	for _, dir := range []string{c.workspace, c.secrets} {
		if err := os.WriteFile(filepath.Join(dir, "canary"), []byte("alive\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// sandbox returns a sandbox that also permits this test program.
func (c *confined) sandbox(t testing.TB, n sandbox.Net) *sandbox.Sandbox {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	work, err := unix.Open(c.workspace, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Prepare(sandbox.Spec{
		Files: []sandbox.File{{FD: work, Access: sandbox.Write}},
		Paths: append(slices.Clone(sandbox.System), sandbox.Path{Name: self, Access: sandbox.Execute}),
		Net:   n,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); unix.Close(work) })
	return s
}

// run runs a shell script in the workspace.
func (c *confined) run(t testing.TB, s *sandbox.Sandbox, script string, env ...string) (Status, string) {
	t.Helper()
	cmd := sh(t, script)
	cmd.Sandbox = s
	cmd.Env = append(cmd.Env, env...)
	dir, err := unix.Open(c.workspace, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	cmd.Dir = dir
	var out, errs strings.Builder // one goroutine writes to each
	streams := none()
	streams.Out, streams.Err = &out, &errs
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := c.host.Run(ctx, cmd, streams)
	if err != nil {
		t.Fatal(err)
	}
	return st, out.String() + errs.String()
}

// TestConfinedWorks runs scripts as builds do, in a directory that may be written.
func TestConfinedWorks(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	s := c.sandbox(t, sandbox.Net{})
	for _, tt := range []struct{ script, want string }{
		{"cat canary; echo new >file; cat file", "alive\nnew\n"},
		{"mkdir -p d/e && mv d/e d/f && ln -s f d/g && rm -r d && echo gone", "gone\n"},
		{"chmod 640 canary && stat -c %a canary; chmod 4755 . 2>&1; stat -c %a .", "640\n4755\n"},
		{"touch -d @1000 canary && stat -c %Y canary; cp -p canary copy && stat -c %Y copy", "1000\n1000\n"},
		{"cp -a canary a && ln -s a l && touch -h -d @5 l && stat -c %Y l", "5\n"},
		{"seq 1000 | sort -n | tail -1; echo err >/dev/stderr; echo x >/dev/null", "1000\nerr\n"},
		{"(sleep 0.01; echo child) & wait; kill -0 $$ && echo own", "child\nown\n"},
		{"printf '#!/bin/sh\\necho built\\n' >tool; chmod +x tool; ./tool", "built\n"},
		{"chown $(id -u):$(id -g) canary && echo owned", "owned\n"},
		{"mkdir -m 700 p; exec 5<p; chmod 750 /proc/self/fd/5; stat -c %a p; chmod 700 /proc/self/fd/77 2>/dev/null || echo none", "750\nnone\n"},
		{"mkdir t; ln -s x t/l; chmod 711 t; tar -cf t.tar t; mkdir -p v; tar -xpf t.tar -C v && stat -c %a v/t", "711\n"},
		{"tar -cf x.tar canary && mkdir -p u && tar -xpf x.tar -C u && cat u/canary", "alive\n"},
	} {
		if st, out := c.run(t, s, tt.script); st.Code != 0 || out != tt.want {
			t.Errorf("%s: %+v, %q, want %q", tt.script, st, out, tt.want)
		}
	}
}

// TestConfinedWatches watches files that may be read, as tools do that build after each change.
func TestConfinedWatches(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(c.workspace, "link")
	if err := os.Symlink(filepath.Join(c.secrets, "canary"), link); err != nil {
		t.Fatal(err)
	}
	if st, out := c.run(t, c.sandbox(t, sandbox.Net{}), "exec "+self, "EXECUTOR_TEST_AS=watches", "LINK="+link); st.Code != 0 || out != "created <nil>" {
		t.Errorf("%+v, %q", st, out)
	}
}

// TestConfinedTerminal runs a command on a terminal, under a monitor.
func TestConfinedTerminal(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	var out strings.Builder
	cmd := sh(t, "test -t 0 && echo terminal >/dev/tty; echo again | tee /dev/stderr >/dev/stdout; cat "+c.secrets+"/canary; exit 3")
	cmd.Sandbox = c.sandbox(t, sandbox.Net{})
	s := none()
	s.Out, s.TTY = &out, &Winsize{24, 80, 0, 0}
	st, err := c.host.Run(context.Background(), cmd, s)
	if err != nil || st.Code != 3 || !strings.Contains(out.String(), "terminal") || strings.Count(out.String(), "again") != 2 || strings.Contains(out.String(), "alive") {
		t.Errorf("%+v, %v, %q", st, err, out.String())
	}
}

// TestConfinedLeaves checks that nothing which a confined command leaves is alive when Run returns, unless it may stay.
func TestConfinedLeaves(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	s, dir := c.sandbox(t, sandbox.Net{}), hold(t, c.workspace)
	for i, script := range []string{
		"sleep $N & exit 3",
		"(setsid nohup sleep $N >/dev/null 2>&1 &); exit 3",
		"env -i sleep $N & exit 3",
		"setsid env -i sh -c 'trap \"\" TERM HUP; sleep '$N'; :' & exit 3",
		"env -i setsid sh -c 'env -i setsid sleep '$N' &' & wait; exit 3",
		"i=0; while [ $i -lt 50 ]; do env -i setsid sleep $N & i=$((i+1)); done; exit 3",
		"cp /bin/sleep x$N && chmod 0111 x$N && (env -i setsid ./x$N $N &); exit 3", // nobody may look into it
	} {
		for _, tty := range []*Winsize{nil, {24, 80, 0, 0}} {
			number := strconv.Itoa(40_000_000 + 100*os.Getpid() + i)
			cmd := sh(t, script)
			cmd.Sandbox, cmd.Dir, cmd.Env = s, dir, append(cmd.Env, "N="+number)
			streams := none()
			streams.TTY = tty
			st, err := c.host.Run(context.Background(), cmd, streams)
			if err != nil || st.Code != 3 {
				t.Errorf("%s: %+v, %v", script, st, err)
			}
			if left := sleepers(t, number); len(left) > 0 {
				t.Errorf("%s: %v are left, terminal %v", script, left, tty != nil)
			}
		}
	}
	number := strconv.Itoa(40_000_000 + 100*os.Getpid() + 99)
	cmd := sh(t, "sleep "+number+" &")
	cmd.Sandbox, cmd.LeaveProcesses = s, true
	if _, err := c.host.Run(context.Background(), cmd, none()); err != nil {
		t.Error(err)
	}
	exectest.Eventually(t, "the process that may stay runs", func() bool { return len(sleepers(t, number)) == 1 })
	for _, pid := range sleepers(t, number) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// sleepers lists the processes whose last argument is number.
func sleepers(t testing.TB, number string) (pids []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if b, _ := os.ReadFile(name); bytes.HasSuffix(b, []byte("\x00"+number+"\x00")) {
			pid, err := strconv.Atoi(strings.Split(name, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestConfinedHostile runs attacks from inside, each of which has to fail. The canaries stay as they were.
//
// Attack 239.
func TestConfinedHostile(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	socket, err := net.Listen("unix", filepath.Join(c.workspace, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	abstract, err := net.Listen("unix", "@hostexec-test-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	link := filepath.Join(c.workspace, "link")
	if err := os.Symlink(filepath.Join(c.secrets, "canary"), link); err != nil {
		t.Fatal(err)
	}
	before, err := os.Lstat(filepath.Join(c.secrets, "canary"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []sandbox.Net{{}, {Ports: []uint16{1}}} {
		s := c.sandbox(t, n)
		for name := range attacks {
			st, out := c.run(t, s, "exec "+self, "EXECUTOR_TEST_AS=hostile", "ATTACK="+name, "SECRETS="+c.secrets, "LINK="+link,
				"WATCHER="+strconv.Itoa(os.Getpid()), "TCP="+tcp.Addr().String(), "SOCKET="+socket.Addr().String(), "ABSTRACT="+abstract.Addr().String())
			if st.Code != 0 || !strings.HasPrefix(out, "refused: ") {
				t.Errorf("net %+v: %s: %+v, %q", n, name, st, out)
			}
		}
	}
	after, err := os.Lstat(filepath.Join(c.secrets, "canary"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(c.secrets, "canary")); err != nil || string(text) != "alive\n" ||
		after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the canary has changed: %q, %v, %v", text, after, err)
	}
}

// TestConfinesNoThreadOfOurs checks that no thread of this process is confined after a confined command has run. The
// thread that started the command is confined, but ends at once.
//
// Attack 239.
func TestConfinesNoThreadOfOurs(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	c.run(t, c.sandbox(t, sandbox.Net{}), "true")
	exectest.Eventually(t, "no thread has a filter", func() bool {
		tasks, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil || len(tasks) == 0 {
			t.Fatal(tasks, err)
		}
		return !slices.ContainsFunc(tasks, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && !strings.Contains(string(text), "Seccomp:\t0\n")
		})
	})
	if _, err := os.ReadFile(filepath.Join(c.secrets, "canary")); err != nil {
		t.Error(err)
	}
}

// TestCloseGivesUpMetadata closes a host while a file system does not react to a change for a confined command. Close
// gives up after Grace, and says so.
func TestCloseGivesUpMetadata(t *testing.T) {
	var logged bytes.Buffer
	h, err := NewHost(slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	h.Grace = 50 * time.Millisecond
	reacts := make(chan struct{})
	h.servers.Go(func() { <-reacts }) // as Serve is in chmod(2) of such a file
	defer h.servers.Wait()
	defer close(reacts)
	closed := make(chan error, 1)
	go func() { closed <- h.Close() }() // ends after Grace
	select {
	case err := <-closed:
		if err != nil || !strings.Contains(logged.String(), "a file system does not react") {
			t.Errorf("Close returns %v; the log is %q", err, logged.String())
		}
	case <-time.After(patience):
		t.Fatal("Close waits for the file system")
	}
}
