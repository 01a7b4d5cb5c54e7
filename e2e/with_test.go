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
	m.Type(t, "sleep 1000\r")
	m.Expect(t, "sleep 1000\r\n")
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

// listening starts with --listen, and returns its socket, and a function that ends it.
func (h *Host) listening(t *testing.T, flags ...string) (socket string, end func()) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hw")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	if h.cred != nil {
		check(t, os.Chown(dir, int(h.cred.Uid), int(h.cred.Gid)))
	}
	socket = filepath.Join(dir, "s")
	cmd := h.Command(context.Background(), pluginPath(t), append([]string{"with", "--listen", socket}, flags...)...)
	out, err := cmd.StdoutPipe()
	check(t, err)
	cmd.Stderr = os.Stderr
	check(t, cmd.Start())
	line := make([]byte, len("export DOCKER_HOST=unix://"+socket+"\n"))
	_, err = io.ReadFull(out, line)
	want(t, fmt.Sprint("the line to export ", err), string(line), "export DOCKER_HOST=unix://"+socket+"\n")
	end = sync.OnceFunc(func() {
		check(t, cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait() // the code tells
		want(t, "the code of with --listen after ^C", exitCode(cmd.ProcessState), 0)
	})
	t.Cleanup(end)
	return socket, end
}

// TestIntegrationWithListen runs two proxies at once, which serve their clients and reject others.
//
// Attack 249.
func TestIntegrationWithListen(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	one, end := h.listening(t)
	two, _ := h.listening(t)
	for _, s := range []string{one, two} {
		h.Must(t, "-H", "unix://"+s, "version")
		fi, err := os.Stat(s)
		check(t, err)
		want(t, "the socket's mode", fi.Mode().Perm(), 0o600)
	}
	if os.Getuid() == 0 {
		other := newHost(t, true)
		if r := other.Docker(t, "-H", "unix://"+one, "version"); r.Code == 0 || !strings.Contains(r.Err, "permission denied") {
			t.Errorf("another user: %v", r)
		}
		check(t, os.Chmod(one, 0o666)) // the mode is not all that keeps others out
		if r := other.Docker(t, "-H", "unix://"+one, "version"); r.Code == 0 {
			t.Errorf("another user, by a socket for all: %v", r)
		}
	}
	r := h.Docker(t, "hostexec", "with", "--listen", two)
	if r.Code != 125 || !strings.Contains(r.Err, "another process listens there") {
		t.Errorf("a socket that is in use: %v", r)
	}
	end()
	if _, err := os.Lstat(one); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
	h.Must(t, "-H", "unix://"+two, "version")
}

// TestIntegrationWithSocketMounted mounts the proxy's socket by each of its names.
//
// Attack 248.
func TestIntegrationWithSocketMounted(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	img := image(t, "busybox")
	socket, _ := h.listening(t)
	dir := filepath.Dir(socket)
	check(t, os.Symlink(dir, filepath.Join(h.Work, "link")))
	volume := unique("with-volume")
	h.Must(t, "volume", "create", "-o", "type=none", "-o", "o=bind", "-o", "device="+dir, volume)
	t.Cleanup(func() { h.Docker(t, "volume", "rm", "-f", volume) })
	first := unique("with-mounts")
	t.Cleanup(func() { h.Docker(t, "rm", "-f", first) })
	h.Must(t, "create", "--name", first, "--label", runLabel, "-v", dir+":/x", img)
	for _, mounts := range [][]string{
		{"-v", socket + ":/x"}, {"-v", dir + ":/x:ro"}, {"-v", "/tmp:/x"}, {"-v", "/:/x"}, {"-v", h.Work + "/link:/x"},
		{"--mount", "type=bind,src=" + socket + ",dst=/var/run/docker.sock"}, {"--mount", "type=volume,src=" + volume + ",dst=/x"},
		{"--mount", "type=volume,dst=/x,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=" + dir}, {"--volumes-from", first},
	} {
		name := unique("with-mounting")
		r := h.Docker(t, append(append([]string{"-H", "unix://" + socket, "create", "--name", name, "--label", runLabel}, mounts...), img)...)
		if r.Code == 0 || !strings.Contains(r.Err, "the container would get the socket of the API proxy") {
			t.Errorf("%q: %v", mounts, r)
		}
		if r := h.Docker(t, "rm", "-f", "-v", name); !strings.Contains(r.Out+r.Err, "No such container") {
			t.Errorf("%q: the container stays: %v", mounts, r)
		}
	}
	h.Must(t, "-H", "unix://"+socket, "run", "--rm", "--network", "none", "--label", runLabel, "-v", h.Work+":/x", "-v", "/var/run/docker.sock:/s", img, "true")
}

// TestIntegrationWithSocketAtStart makes the source of a mount lead to the proxy's socket after the creation.
//
// Attack 268.
func TestIntegrationWithSocketAtStart(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	img := image(t, "busybox")
	runDir, err := os.MkdirTemp("/tmp", "hw") // with mode 0700; the paths of sockets are short
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(runDir) })
	h.Env = append(h.Env, "XDG_RUNTIME_DIR="+runDir)
	socket, _ := h.listening(t)
	exchanged := func(what, to string, start func(name string) []string) {
		t.Helper()
		at, err := os.MkdirTemp(h.Work, "source")
		check(t, err)
		name := unique("with-" + filepath.Base(at))
		h.Must(t, "-H", "unix://"+socket, "create", "--name", name, "--label", runLabel, "--network", "none", "-v", at+":/x", img, "true")
		t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
		check(t, os.Remove(at))
		check(t, os.Symlink(to, at))
		r := h.Docker(t, start(name)...)
		if r.Code == 0 || !strings.Contains(r.Err, "the container would get the socket of the API proxy") {
			t.Errorf("%s: %v", what, r)
		}
		want(t, what+": the container's start", h.Must(t, "inspect", "--format", "{{.State.StartedAt}}", name), "0001-01-01T00:00:00Z\n")
	}
	byListener := func(verb string) func(string) []string {
		return func(name string) []string { return []string{"-H", "unix://" + socket, verb, name} }
	}
	exchanged("the directory of --listen", filepath.Dir(socket), byListener("start"))
	exchanged("the directory of --listen, by restart", filepath.Dir(socket), byListener("restart"))
	exchanged("the socket itself", socket, byListener("start"))
	exchanged("the runtime directory", runDir, func(name string) []string { return withDocker("", "start", name) })
}

// TestIntegrationWithRuntimeDir checks that the socket lies in the user's runtime directory. No
// container can mount that, and prune removes the socket of a killed proxy.
func TestIntegrationWithRuntimeDir(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	dir, err := os.MkdirTemp("/tmp", "hw") // with mode 0700; the paths of sockets are short
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	h.Env = append(h.Env, "XDG_RUNTIME_DIR="+dir)
	run := func(source string) []string {
		return withDocker("", "run", "--rm", "--network", "none", "--label", runLabel, "-v", source+":/x", image(t, "busybox"), "echo", "ran")
	}
	want(t, "a container with the working directory", h.Must(t, run(h.Work)...), "ran\n")
	if r := h.Docker(t, run(h.Home)...); r.Code != 125 || !strings.Contains(r.Err, "covers hostexec's own state") {
		t.Errorf("a container with the home directory, which has the state: %v", r)
	}
	if r := h.Docker(t, run(dir)...); r.Code != 125 || !strings.Contains(r.Err, "or move the socket") {
		t.Errorf("a container with the runtime directory: %v", r)
	}
	ctx, kill := context.WithCancel(t.Context())
	cmd := h.Command(ctx, "docker", with(nil, "sh", "-c", "echo ready; read line")...)
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("ready\n")))
	check(t, err)
	left, err := filepath.Glob(dir + "/hostexec-*/docker.sock")
	check(t, err)
	want(t, "sockets in the runtime directory", len(left), 1)
	kill()
	check(t, in.Close())
	_ = cmd.Wait() // killed
	h.Must(t, "hostexec", "prune", "-f")
	left, err = filepath.Glob(dir + "/*")
	check(t, err)
	want(t, "what is left", len(left), 0)
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
