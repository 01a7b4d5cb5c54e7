// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Proxy is a docker hostexec proxy that runs, and answers.
type Proxy struct {
	Host  *Host
	Lines []string // what it has said on stdout
	cmd   *exec.Cmd
	errs  liveOutput // complete when it has ended
	end   chan int   // the code, once
}

// liveOutput collects what a process writes, and can be read while the process runs.
type liveOutput struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

func (o *liveOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *liveOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// noEngine is where no engine is: a proxy needs none.
const noEngine = "DOCKER_HOST=unix:///nonexistent/docker.sock"

// Proxy starts docker hostexec proxy in Work for commands, separated by spaces, and returns
// when it answers. It is ended with the test.
func (h *Host) Proxy(t testing.TB, commands string, flags ...string) *Proxy {
	t.Helper()
	return h.proxy(t, []string{pluginPath(t), "proxy"}, commands, flags...)
}

// proxy is Proxy by a verb of another program, docker.
func (h *Host) proxy(t testing.TB, verb []string, commands string, flags ...string) *Proxy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	names := strings.Fields(commands)
	h.keepsWork(t)
	p := &Proxy{Host: h, end: make(chan int, 1)}
	p.cmd = h.Command(ctx, verb[0], slices.Concat(verb[1:], flags, names)...)
	p.cmd.Env = append(p.cmd.Env, noEngine)
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	check(t, err)
	check(t, p.cmd.Start())
	lines := make(chan string, 64)
	done := make(chan struct{})
	// ends with the proxy; the cleanup waits for it.
	go func() { defer close(done); p.follow(out, lines) }()
	t.Cleanup(func() { p.cmd.Process.Signal(syscall.SIGTERM); p.settle(done, cancel) })
	for len(p.Lines) < 2*len(names) {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("proxy %q has ended with %d: %s", commands, p.Ended(t), &p.errs)
			}
			p.Lines = append(p.Lines, line)
		case <-time.After(patience):
			t.Fatalf("proxy %q does not answer", commands)
		}
	}
	return p
}

// keepsWork has nobody else rename in Work, which every user of a container may write to: a proxy
// warns of that.
func (h *Host) keepsWork(t testing.TB) {
	t.Helper()
	check(t, os.Chmod(h.Work, 0o777|os.ModeSticky))
}

// settle waits for the proxy, and kills it when it does not end.
func (p *Proxy) settle(done chan struct{}, kill func()) {
	select {
	case <-done:
	case <-time.After(patience):
	}
	kill()
	<-done
}

func (p *Proxy) follow(out io.Reader, lines chan<- string) {
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		lines <- scan.Text()
	}
	close(lines)
	p.cmd.Wait()
	p.end <- exitCode(p.cmd.ProcessState)
}

// Stop tells the proxy to end and returns its code.
func (p *Proxy) Stop(t testing.TB, sig syscall.Signal) int {
	t.Helper()
	check(t, p.cmd.Process.Signal(sig))
	return p.Ended(t)
}

// Ended waits for the proxy's end and returns its code.
func (p *Proxy) Ended(t testing.TB) int {
	t.Helper()
	select {
	case code := <-p.end:
		p.end <- code
		return code
	case <-time.After(patience):
		t.Fatal("the proxy does not end")
	}
	return -1
}

// At is the directory of a command's requests.
func (h *Host) At(command string) string { return filepath.Join(h.Work, ".hostexec", "proxy", command) }

// Client is the client of a command.
func (h *Host) Client(command string) string { return filepath.Join(h.At(command), command) }

// as returns the person with another user's number, as a container may have.
func (h *Host) as(uid uint32) *Host {
	return &Host{Name: fmt.Sprint(h.Name, "-", uid), Home: h.Home, State: h.State, Work: h.Work, Env: h.Env, cred: &syscall.Credential{Uid: uid, Gid: uid}}
}

// Submit writes a request into a directory as a script does, and returns its id. If command is set,
// the request names it.
func Submit(t testing.TB, dir, id, command string, args ...string) {
	t.Helper()
	var b strings.Builder
	for _, a := range args {
		b.WriteString(a + "\x00")
	}
	if command != "" {
		check(t, os.WriteFile(filepath.Join(dir, id+".cmd"), []byte(command), 0o644))
	}
	tmp := filepath.Join(dir, id+".req.tmp")
	check(t, os.WriteFile(tmp, []byte(b.String()), 0o644))
	check(t, os.Rename(tmp, filepath.Join(dir, id+".req")))
}

// Answer waits for the answer to a request, and removes it as its reader does.
func Answer(t testing.TB, dir, id string) Result {
	t.Helper()
	var code []byte
	eventually(t, patience, "there is an answer to "+id, func() bool {
		var err error
		code, err = os.ReadFile(filepath.Join(dir, id+".exit"))
		return err == nil
	})
	r := Result{Code: atoi(t, string(code))}
	for _, s := range []struct {
		what string
		to   *string
	}{{"stdout", &r.Out}, {"stderr", &r.Err}} {
		text, err := os.ReadFile(filepath.Join(dir, id+"."+s.what))
		check(t, err)
		*s.to = string(text)
	}
	for _, what := range []string{"stdout", "stderr", "exit", "status"} {
		os.Remove(filepath.Join(dir, id+"."+what))
	}
	return r
}

// protocol lists the call files in a directory.
func protocol(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.*"))
	check(t, err)
	var left []string
	for _, path := range list {
		if name := filepath.Base(path); name != ".heartbeat" && !strings.HasSuffix(name, ".pid") {
			left = append(left, name)
		}
	}
	return left
}
