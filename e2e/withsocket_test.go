// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

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
