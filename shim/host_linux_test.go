// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestMain runs the test binary as the shim if requested. The tests then have a real process with its own
// descriptors and exit status, and the race detector.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_SHIM") == "" {
		resetIgnoredSignals()
		os.Exit(m.Run())
	}
	if d, err := time.ParseDuration(os.Getenv("TEST_PATIENCE")); err == nil {
		decideTimeout = d
	}
	if d, err := time.ParseDuration(os.Getenv("TEST_FINISHING")); err == nil {
		finishTimeout = d
	}
	if dir := os.Getenv("TEST_CGROUPS"); dir != "" {
		cgroups = dir
	}
	args := os.Args
	if os.Getenv("TEST_LONG") != "" {
		args = append(args, strings.Repeat("x", wire.MaxExec))
	}
	os.Exit(Main(args, os.Environ()))
}

// resetIgnoredSignals handles signals that this process ignores because of nohup or a script's &. Handled signals
// have the default action after exec(2), so the shims do not ignore them.
func resetIgnoredSignals() {
	for _, f := range wire.Signals {
		if sig := syscall.Signal(f.Number); signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// fakeHost is a share with a host that the test controls.
type fakeHost struct {
	t    *testing.T
	dir  string
	sock *net.UnixListener
}

func newFakeHost(t *testing.T) *fakeHost {
	s := &fakeHost{t: t, dir: t.TempDir()}
	s.sock = s.listen("socket")
	return s
}

func (s *fakeHost) listen(name string) *net.UnixListener {
	s.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(s.dir, name), Net: "unix"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	return l
}

// shim is the process under test.
type shim struct {
	*exec.Cmd
	t      *testing.T
	stderr bytes.Buffer
}

// command prepares a shim with args, on /dev/null.
func (s *fakeHost) command(args ...string) *shim {
	c := &shim{Cmd: exec.Command("/proc/self/exe"), t: s.t}
	c.Args = args
	// Without this, the race detector sleeps for a second at each exit.
	c.Env = []string{"TEST_AS_SHIM=1", "HOSTEXEC_DIR=" + s.dir, "GORACE=atexit_sleep_ms=0"}
	return c
}

// sh prepares a shell in which $SHIM is the path of the shim.
func (s *fakeHost) sh(script string) *shim {
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.command()
	c.Cmd = &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: append(c.Env, "SHIM="+exe)}
	return c
}

func (c *shim) start() *shim {
	c.t.Helper()
	if err := c.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { c.Process.Kill() })
	return c
}

// status waits for the end of the process.
func (c *shim) status() syscall.WaitStatus {
	c.t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { c.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	if err := c.Wait(); err != nil && c.ProcessState == nil {
		c.t.Fatal(err)
	}
	return c.ProcessState.Sys().(syscall.WaitStatus)
}

func (c *shim) wantExit(code int) {
	c.t.Helper()
	if st := c.status(); !st.Exited() || st.ExitStatus() != code {
		c.t.Errorf("the shim ended with %v, want exit %d", c.ProcessState, code)
	}
}

func (c *shim) wantSignal(sig syscall.Signal) {
	c.t.Helper()
	if st := c.status(); !st.Signaled() || st.Signal() != sig {
		c.t.Errorf("the shim ended with %v, want signal: %v", c.ProcessState, sig)
	}
}

// stopped waits until a signal has stopped every thread of the process.
func stopped(t *testing.T, pid int) {
	t.Helper()
	runs := func(thread string) bool {
		b, err := os.ReadFile(thread)
		return err != nil || !bytes.Contains(b, []byte(") T "))
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)); !slices.ContainsFunc(threads, runs) {
			return
		}
	}
	t.Fatal("the shim does not stop")
}

// listening waits until pid has subscribed to all signals that it forwards.
func listening(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if catches(t, pid, syscall.SIGCONT) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the shim does not listen to signals")
		}
	}
}

// peer is the host's end of one call.
type peer struct {
	*net.UnixConn
	t   *testing.T
	req wire.Exec
	fds []*os.File
}

// accept reads one request.
func (s *fakeHost) accept() *peer {
	s.t.Helper()
	return accept(s.t, s.sock)
}

func accept(t *testing.T, l *net.UnixListener) *peer {
	t.Helper()
	l.SetDeadline(time.Now().Add(10 * time.Second))
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(15 * time.Second))
	p := &peer{UnixConn: conn, t: t}
	var head [wire.HeaderLen]byte
	oob := make([]byte, 256)
	n, on, _, _, err := conn.ReadMsgUnix(head[:], oob)
	if err != nil || n != len(head) {
		t.Fatalf("read the request: %d bytes, %v", n, err)
	}
	p.keep(oob[:on])
	_, size, err := wire.ParseHeader(head[:])
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	if p.req, err = wire.ParseExec(string(b)); err != nil {
		t.Fatal(err)
	}
	return p
}

// keep stores the received descriptors.
func (p *peer) keep(oob []byte) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range msgs {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "rider")
			p.fds = append(p.fds, f)
			p.t.Cleanup(func() { f.Close() })
		}
	}
}

func (p *peer) send(k wire.Kind, payload []byte) {
	p.t.Helper()
	if _, err := p.Write(wire.AppendFrame(nil, k, payload)); err != nil {
		p.t.Fatalf("send a frame of kind %d: %v", k, err)
	}
}

func (p *peer) started(fds ...wire.Disposition) {
	p.t.Helper()
	m := wire.Started{FDs: [3]wire.Disposition(fds), Request: "r"}
	p.send(wire.KindStarted, m.Append(nil))
}

// runs sends Started and waits until the shim has read it.
func (p *peer) runs() {
	p.t.Helper()
	p.started(wire.Copied, wire.Null, wire.Null)
	p.want(wire.KindStdinEOF, "") // from /dev/null
}

func (p *peer) exit(m wire.Exit) {
	p.t.Helper()
	p.send(wire.KindExit, m.Append(nil))
}

// process returns the shim's process.
func (p *peer) process() *os.Process {
	p.t.Helper()
	conn, err := p.SyscallConn()
	if err != nil {
		p.t.Fatal(err)
	}
	var cred *syscall.Ucred
	cerr := conn.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if cerr != nil || err != nil {
		p.t.Fatal(cerr, err)
	}
	c, err := os.FindProcess(int(cred.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Kill() })
	return c
}

// next returns the shim's next frame.
func (p *peer) next() (wire.Kind, []byte) {
	p.t.Helper()
	k, b, err := wire.ReadFrame(p, nil)
	if err != nil {
		p.t.Fatalf("read a frame: %v", err)
	}
	return k, b
}

// want reads one frame and compares it.
func (p *peer) want(k wire.Kind, payload string) {
	p.t.Helper()
	if got, b := p.next(); got != k || string(b) != payload {
		p.t.Fatalf("frame = %d %q, want %d %q", got, b, k, payload)
	}
}

// wantSignal reads the two frames of a signal.
func (p *peer) wantSignal(name, to string) {
	p.t.Helper()
	p.want(wire.KindSignal, to)
	p.want(wire.KindSignal, name)
}

// wantGone reads to the end of the connection.
func (p *peer) wantGone() {
	p.t.Helper()
	if k, b, err := wire.ReadFrame(p, nil); err != io.EOF {
		p.t.Errorf("frame = %d %q, %v, want the connection to end", k, b, err)
	}
}

// credited reads credit until n bytes have been returned.
func (p *peer) credited(n int) {
	p.t.Helper()
	for n > 0 {
		k, b := p.next()
		if k != wire.KindCredit {
			p.t.Fatalf("frame = %d %q, want credit", k, b)
		}
		m, err := wire.ParseCredit(b)
		if err != nil {
			p.t.Fatal(err)
		}
		n -= int(m)
	}
}
