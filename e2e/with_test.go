// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// with returns docker's arguments for command behind the API proxy.
func with(flags []string, command ...string) []string {
	return append(append(append([]string{"hostexec", "with"}, flags...), "--"), command...)
}

// TestIntegrationWithCommand ends the command of with in each way, and checks its environment.
func TestIntegrationWithCommand(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	h.Env = append(h.Env, "DOCKER_TLS_VERIFY=", "DOCKER_CERT_PATH=/nowhere")
	img := image(t, "busybox")
	h.Write(t, h.Work, "text", "no program\n", 0o644)
	run := []string{"docker", "run", "--rm", "--network", "none", "--label", runLabel}
	for _, tt := range []struct {
		name    string
		command []string
		code    int
	}{
		{"success", []string{"true"}, 0},
		{"its own code", []string{"sh", "-c", "exit 7"}, 7},
		{"the container's code", append(run, img, "sh", "-c", "exit 3"), 3},
		{"a signal", []string{"sh", "-c", "kill -9 $$"}, 137},
		{"not found", []string{"no-such-command"}, 127},
		{"not a program", []string{"./text"}, 126},
		{"docker's error", append(run, "--no-such-flag"), 125},
		{"no command", nil, 125},
	} {
		if r := h.Docker(t, with(nil, tt.command...)...); r.Code != tt.code {
			t.Errorf("%s: %v, want code %d", tt.name, r, tt.code)
		}
	}
	env := h.Must(t, with(nil, "sh", "-c", `env | grep -e ^DOCKER_ -e ^TESTC | sort; s="${DOCKER_HOST#unix://}"; stat -c "mode=%a" "$s" "${s%/*}"`)...)
	socket := strings.TrimPrefix(field(env, "DOCKER_HOST="), "unix://")
	if !strings.HasPrefix(socket, h.State+"/api/") || strings.Contains(env, "DOCKER_CERT") || strings.Contains(env, "DOCKER_CLI_PLUGIN") || strings.Contains(env, "TLS") {
		t.Errorf("the environment of the command: %s", env)
	}
	if !strings.HasSuffix(env, "mode=600\nmode=700\n") {
		t.Errorf("the modes of the socket and its folder: %s", env)
	}
	want(t, "the engine's own socket", field(env, "TESTCONTAINERS_DOCKER_SOCKET_OVERRIDE="), "/var/run/docker.sock")
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
	left, err := filepath.Glob(h.State + "/api/*")
	if check(t, err); len(left) > 0 {
		t.Errorf("%q stays", left)
	}
}

// field returns the rest of the line of text that begins with key.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// TestIntegrationWithStreams passes streams through the proxy: input that ends before the output, a build by the classic
// builder, and one by BuildKit, which upgrades connections to HTTP/2.
func TestIntegrationWithStreams(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	img := image(t, "busybox")
	in := strings.Repeat("0123456789abcdef", 1<<14)
	r := p.feed(t, in, "docker", with(nil, "docker", "run", "-i", "--rm", "--network", "none", "--label", runLabel, img, "sh", "-c", "cat; echo eof")...)
	want(t, "the output of run -i", r.Out, in+"eof\n")

	name := unique("with-streams")
	p.Must(t, with(nil, "docker", "run", "-d", "--network", "none", "--name", name, "--label", runLabel, img, "sleep", "1000")...)
	t.Cleanup(func() { p.Docker(t, "rm", "-f", name) })
	r = p.feed(t, in, "docker", with(nil, "docker", "exec", "-i", name, "sh", "-c", "cat; echo eof; exit 9")...)
	want(t, "the output of exec -i", r.Out, in+"eof\n")
	want(t, "the code of exec", r.Code, 9)
	want(t, "the output that exec stops to read", p.feed(t, in, "docker", with(nil, "docker", "exec", "-i", name, "head", "-c", "4")...).Out, "0123")

	tag := unique("with-built")
	t.Cleanup(func() { p.Docker(t, "rmi", "-f", tag, tag+"-kit") })
	p.Write(t, p.Work, "Dockerfile", "FROM "+img+"\nCOPY big /big\n", 0o644)
	p.Write(t, p.Work, "big", strings.Repeat("x", 32<<20), 0o644)
	p.Write(t, p.Work, "kit.yaml", "services: {a: {image: "+tag+"-kit, build: .}}\n", 0o644)
	p.Env = append(p.Env, "DOCKER_BUILDKIT=0")
	p.Must(t, with(nil, "docker", "build", "-q", "-t", tag, ".")...)
	p.Env = append(p.Env, "DOCKER_BUILDKIT=1")
	p.Must(t, with(nil, "docker", "compose", "-f", "kit.yaml", "build", "-q")...)
	for _, built := range []string{tag, tag + "-kit"} {
		want(t, "the file of "+built, p.Must(t, "run", "--rm", "--network", "none", "--label", runLabel, built, "wc", "-c", "/big"), "33554432 /big\n")
	}
}

// TestIntegrationWithTerminal types at docker run -it behind the proxy: its terminal has the size, ^C and ^Z reach it.
func TestIntegrationWithTerminal(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	img := image(t, "full")
	m := h.term(t, append([]string{"docker"}, with(nil, "docker", "run", "-it", "--rm", "--network", "none", "--label", runLabel, img,
		"bash", "-c", sized+`export PS1="ready> "; exec bash --norc --noprofile --noediting -i`, "24", "80")...)...)
	m.Expect(t, "ready> ")
	m.Resize(t, 30, 100)
	m.Type(t, "until [ \"$(stty size)\" = '30 100' ]; do :; done; echo res''ized\r")
	m.Expect(t, "resized")
	m.Type(t, "sh -c 'echo sl''eeps; exec sleep 1000'\r")
	m.Expect(t, "sleeps") // before that, bash may get the ^C in place of sleep
	m.Type(t, "\x03")
	m.Expect(t, "ready> ")
	m.Type(t, "exit 5\r")
	want(t, "the code", m.Wait(t), 5)

	m = h.term(t, "bash", "--norc", "--noprofile", "--noediting", "-i")
	m.Type(t, "PS1='host''> '\r")
	m.Expect(t, "host> ")
	m.Type(t, "docker hostexec with -- sh -c 'echo be''gun; while :; do read x; echo \"got $x\"; done' "+h.Home+"\r")
	m.Expect(t, "begun")
	m.Type(t, "\x1a")
	m.Expect(t, "Stopped")
	// A read that is under way when ^Z comes may still take what is typed next.
	eventually(t, patience, "all of it is stopped", func() bool {
		return !slices.ContainsFunc(processes("got $x", h.Home), func(pid int) bool { return status(pid, "State")[:1] != "T" })
	})
	m.Type(t, "fg\r")
	m.Expect(t, "fg\r\n")
	m.Type(t, "this\r")
	m.Expect(t, "got this")
	m.Type(t, "\x03")
	m.Expect(t, "host> ")
	m.Type(t, "echo code $?\r")
	m.Expect(t, "code 130")
}

// TestIntegrationWithSignal sends signals to with, which passes them on.
func TestIntegrationWithSignal(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		name := map[syscall.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGUSR1: "USR1"}[sig]
		cmd := h.Command(t.Context(), pluginPath(t), "with", "--", "sh", "-c", "trap 'echo got; exit 9' "+name+"; echo ready; while :; do sleep 0.05; done")
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		line := make([]byte, 6)
		_, err = io.ReadFull(out, line)
		check(t, err)
		check(t, cmd.Process.Signal(sig))
		rest, err := io.ReadAll(out)
		check(t, err)
		_ = cmd.Wait() // the code tells
		want(t, "the output after "+name, string(rest), "got\n")
		want(t, "the code after "+name, exitCode(cmd.ProcessState), 9)
	}
}

// TestIntegrationWithManyCreations creates 200 containers at once.
func TestIntegrationWithManyCreations(t *testing.T) {
	h := newHost(t, false)
	img := image(t, "busybox")
	socket, _ := h.listening(t)
	c := engineClient(socket)
	key, _, _ := strings.Cut(runLabel, "=")
	body := fmt.Sprintf(`{"Image":%q,"Labels":{%q:%q,"many":"1"},"HostConfig":{"NetworkMode":"none"}}`, img, key, runLabel[len(key)+1:])
	var wg sync.WaitGroup
	for range 200 {
		// ends with its request
		wg.Go(func() {
			r, err := c.Post("http://d/v1.41/containers/create", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			if b, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusCreated {
				t.Errorf("%s %s", r.Status, b)
			}
		})
	}
	wg.Wait()
	ids := strings.Fields(h.Must(t, "ps", "-aq", "--filter", "label="+runLabel, "--filter", "label=many"))
	want(t, "containers", len(ids), 200)
	h.feedFor(t, 5*time.Minute, "", "docker", append([]string{"rm", "-f"}, ids...)...)
}

// TestIntegrationWithClientKilled kills a client at each moment of docker run: no session stays without a container.
func TestIntegrationWithClientKilled(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	img := image(t, "busybox")
	socket, end := h.listening(t, "--proxy", "hsh=/bin/sh", "--all")
	for i := range 16 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Millisecond)
		cmd := h.Command(ctx, "docker", "-H", "unix://"+socket, "run", "--network", "none", "--label", runLabel, "--label", "killed", img, "true")
		_ = cmd.Run() // it is killed, or ends before
		cancel()
	}
	end()
	ids := strings.Fields(h.Must(t, "ps", "-aq", "--filter", "label="+runLabel, "--filter", "label=killed"))
	eventually(t, patience, "each session has a container", func() bool { return len(h.Sessions(t)) <= len(ids) })
	if len(ids) > 0 {
		h.Must(t, append([]string{"rm", "-f"}, ids...)...)
	}
	eventually(t, patience, "no session is left", func() bool { return len(h.Sessions(t)) == 0 })
}

// TestIntegrationWithContext creates a docker context, which goes with the proxy, or by prune if that was killed.
func TestIntegrationWithContext(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	contexts := func() string { return h.Must(t, "context", "ls", "--format", "{{.Name}} {{.DockerEndpoint}}") }
	h.Must(t, "context", "create", "mine", "--docker", "host=unix:///nowhere")
	for _, name := range []string{"mine", "default", "no/name"} {
		if r := h.Docker(t, with([]string{"--context", name}, "true")...); r.Code != 125 || !strings.Contains(r.Err, "hostexec: --context "+name) {
			t.Errorf("--context %s: %v", name, r)
		}
	}
	if got := contexts(); !strings.Contains(got, "mine unix:///nowhere\n") {
		t.Errorf("a context was overwritten: %s", got)
	}
	h.Must(t, with([]string{"--context", "proxied"}, "sh", "-c", "unset DOCKER_HOST; docker --context proxied version && docker context use proxied")...)
	if got := contexts(); strings.Contains(got, "proxied") {
		t.Errorf("the context stays: %s", got)
	}
	h.Must(t, "version") // the context that was in use is not any more

	ctx, kill := context.WithCancel(t.Context())
	cmd := h.Command(ctx, pluginPath(t), "with", "--context", "proxied")
	check(t, cmd.Start())
	eventually(t, patience, "the context is there", func() bool { return strings.Contains(contexts(), "proxied unix://"+h.State) })
	kill()
	_ = cmd.Wait() // killed
	if got := contexts(); !strings.Contains(got, "proxied") {
		t.Fatalf("the context went without prune: %s", got)
	}
	h.Must(t, "hostexec", "prune", "-f")
	if got := contexts(); strings.Contains(got, "proxied") || !strings.Contains(got, "mine") {
		t.Errorf("after prune: %s", got)
	}
}
