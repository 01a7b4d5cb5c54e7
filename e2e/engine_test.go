// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// engine is a second Docker engine on this host, in a network of its own, which a test
// may stop as it likes. Containers live on without it (--live-restore), unless stopContainers says no.
type engine struct {
	dir            string
	net            *os.File // the network namespace, the same after a restart
	cmd            *exec.Cmd
	own            bool // it has mounts of its own, too: what the tests change there nobody else sees
	stopContainers bool // containers end with it, from its next start
}

const engineRef = "hostexec-e2e/second:latest"

// newEngine starts one, with the busybox image in it. Only root can.
func newEngine(t *testing.T) *engine { return newEngineOf(t, false) }

func newEngineOf(t *testing.T, own bool) *engine {
	t.Helper()
	parent, err := base()
	check(t, err)
	based.Store(true)
	e := &engine{dir: filepath.Join(parent, "e"+strconv.FormatInt(hostCount.Add(1), 10)), own: own} // short: containerd has sockets in it
	check(t, os.MkdirAll(e.dir, 0o755))
	// Neither the machine's settings nor its containers are this engine's.
	check(t, os.WriteFile(filepath.Join(e.dir, "daemon.json"), []byte("{}\n"), 0o644))
	e.net = newNetwork(t)
	t.Cleanup(func() { e.removeAll(t) })
	e.start(t)
	h := newHost(t, false)
	h.Env = e.env()
	h.load(t, busyboxImage(t), engineRef)
	return e
}

// newNetwork makes an empty network namespace, which exists while the returned file is open.
func newNetwork(t *testing.T) *os.File {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "--", "cat")
	hold, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	_, err = hold.Write([]byte{0})
	check(t, err)
	_, err = out.Read([]byte{0}) // now it is cat, and in its namespace
	check(t, err)
	net, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	check(t, err)
	t.Cleanup(func() { net.Close() })
	check(t, hold.Close())
	check(t, cmd.Wait())
	return net
}

func (e *engine) socket() string { return filepath.Join(e.dir, "docker.sock") }

// env is what reaches this engine, and not the machine's.
func (e *engine) env() []string { return []string{"DOCKER_HOST=unix://" + e.socket()} }

// start starts the engine, which may have run before, and waits until it answers.
func (e *engine) start(t *testing.T) {
	t.Helper()
	fi, err := os.Stat("/var/run/docker.sock")
	check(t, err)
	group := strconv.Itoa(int(fi.Sys().(*syscall.Stat_t).Gid)) // the ordinary user's
	log, err := os.OpenFile(e.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(t, err)
	defer log.Close()
	args := []string{"--net=/proc/self/fd/3", "--"}
	if e.own {
		args = append(args, "unshare", "--mount", "--propagation", "private", "--")
	}
	args = append(args, "dockerd", "--config-file", e.dir+"/daemon.json",
		"--data-root", e.dir+"/data", "--exec-root", e.dir+"/exec", "--pidfile", e.dir+"/pid", "--host", "unix://"+e.socket(), "--group", group,
		"--bridge", "none", "--iptables=false", "--live-restore="+strconv.FormatBool(!e.stopContainers), "--storage-driver", "vfs")
	e.cmd = exec.Command("nsenter", args...)
	e.cmd.Stdout, e.cmd.Stderr, e.cmd.ExtraFiles = log, log, []*os.File{e.net}
	check(t, e.cmd.Start())
	eventually(t, patience, "the second engine answers", func() bool {
		return exec.Command("docker", "--host", "unix://"+e.socket(), "version").Run() == nil
	})
}

func (e *engine) log() string { return filepath.Join(e.dir, "log") }

// stop ends the engine by sig and waits until it has gone, and its containerd with it: the next one would take even a
// zombie for one that runs. So it would another process that has got one of their pids.
func (e *engine) stop(t *testing.T, sig syscall.Signal) {
	t.Helper()
	containerd := hold(t, atoi(t, string(readFile(t, e.containerdPID()))))
	check(t, e.cmd.Process.Signal(sig))
	waitOr(t, e.cmd.Wait)
	eventually(t, patience, "its containerd has gone", func() bool {
		return unix.PidfdSendSignal(containerd.fd, 0, nil, 0) == unix.ESRCH
	})
	for _, file := range []string{e.dir + "/pid", e.containerdPID()} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func (e *engine) containerdPID() string { return e.dir + "/exec/containerd/containerd.pid" }

// removeAll removes all there is of the engine.
func (e *engine) removeAll(t *testing.T) {
	if t.Failed() {
		log := string(readFile(t, e.log()))
		t.Logf("the second engine's log ends\n%s", log[max(0, len(log)-4000):])
	}
	docker := func(args ...string) string {
		out, _ := exec.Command("docker", append([]string{"--host", "unix://" + e.socket()}, args...)...).Output()
		return string(out)
	}
	if ids := strings.Fields(docker("ps", "-aq")); len(ids) > 0 {
		docker(append([]string{"rm", "-f", "-v"}, ids...)...)
	}
	e.stop(t, syscall.SIGTERM)
	mounts, err := os.ReadFile("/proc/self/mounts")
	check(t, err)
	lines := strings.Split(string(mounts), "\n")
	slices.Reverse(lines) // the last was mounted on top
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], e.dir+"/") {
			check(t, unix.Unmount(f[1], unix.MNT_DETACH))
		}
	}
	check(t, os.RemoveAll(e.dir))
}

// TestIntegrationEngineRestart stops the engine below a session and starts it again, as
// an upgrade does it and as a crash does: calls are answered meanwhile and after. A
// second engine takes root.
func TestIntegrationEngineRestart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("a second engine can only be started by root: run the integration tests as root, or leave this one out by name")
	}
	t.Parallel() // most of it is waiting
	e := newEngine(t)
	for _, ordinary := range userKinds()[1:] { // whoever it is, the engine is not asked
		h := newHost(t, ordinary)
		h.Env = e.env()
		t.Run(h.Name+"/calls go on", func(t *testing.T) { callsGoOn(t, h, e) })
		t.Run(h.Name+"/the end is seen", func(t *testing.T) { endIsSeen(t, h, e) })
		t.Run(h.Name+"/containers come back", func(t *testing.T) { containersComeBack(t, h, e) })
	}
}

// callsGoOn restarts the engine in both ways, below a session by socket and two by relay. Running
// calls of a relay end; later ones are answered without any action of the user.
func callsGoOn(t *testing.T, h *Host, e *engine) {
	m := newScriptedCalls(t, h)
	relays := map[string]*scriptedCalls{"relay": newScriptedCalls(t, h, "--carrier", "relay"), "attach": newAttached(t, h)}
	watcher, keeper := h.Watcher(t, m.c.Session), h.Keeper(t, m.c.Session)
	long := hold(t, atoi(t, m.ask(t, "long")))
	m.call(t, "before")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		var over []*Proc
		for _, r := range relays {
			over = append(over, hold(t, atoi(t, r.ask(t, "long"))))
		}
		e.stop(t, sig)
		allEnd(t, over, grace)
		m.call(t, "without an engine, after "+sig.String())
		want(t, "status without an engine", strings.Contains(h.Must(t, "hostexec", "status", "-q"), m.c.Session+"\n"), true)
		e.start(t)
		m.call(t, "with the engine again, after "+sig.String())
		want(t, "by docker exec", h.Docker(t, "exec", m.c.ID, "hsh", "-c", "echo called").Out, "called\n")
		for by, r := range relays {
			want(t, by+": what a call from before ends with", r.line(t, "the end of a call"), "code 125")
			r.call(t, by+", with the engine again, after "+sig.String())
		}
	}
	for what, p := range map[string]*Proc{"the watcher": watcher, "the keeper": keeper, "a command from before": long} {
		want(t, what+" has gone", p.Gone(0), false)
	}
	want(t, "the container runs", m.c.Inspect(t, "{{.State.Running}}"), "true")
	// An engine that was killed may miss the end of a process that has a container's directory open. Then rm fails once.
	eventually(t, patience, "the containers are removed", func() bool {
		return h.Docker(t, "rm", "-f", m.c.ID, relays["relay"].c.ID, relays["attach"].c.ID).Code == 0
	})
	allEnd(t, []*Proc{watcher, keeper, long}, grace)
	h.quiet(t, soon)
}

// endIsSeen ends the container while no engine runs that could report it.
func endIsSeen(t *testing.T, h *Host, e *engine) {
	m := newScriptedCalls(t, h)
	watcher, main := h.Watcher(t, m.c.Session), hold(t, m.c.PID(t))
	long := hold(t, atoi(t, m.ask(t, "long")))
	e.stop(t, syscall.SIGTERM)
	main.Signal(t, syscall.SIGKILL)
	main.Ends(t, soon)
	long.Ends(t, grace) // its caller died
	e.start(t)
	watcher.Ends(t, leaves)
	h.Must(t, "rm", m.c.ID)
	h.Must(t, "hostexec", "prune", "-f")
	h.quiet(t, soon)
}

// containersComeBack restarts an engine that ends its containers, and starts them again by
// their restart policy.
func containersComeBack(t *testing.T, h *Host, e *engine) {
	e.stop(t, syscall.SIGTERM)
	e.stopContainers = true
	e.start(t)
	defer func() { e.stopContainers = false }()
	again := []string{"--restart", "always", "--stop-signal", "KILL"}
	callers := map[string]*scriptedCalls{
		"socket": newScriptedCalls(t, h, again...), "relay": newScriptedCalls(t, h, append(again, "--carrier", "relay")...), "attach": newAttached(t, h, again...),
	}
	var commands []*Proc
	for _, m := range callers {
		commands = append(commands, hold(t, atoi(t, m.ask(t, "long"))))
	}
	e.stop(t, syscall.SIGTERM)
	allEnd(t, commands, grace)
	e.start(t)
	for by, m := range callers {
		m.call(t, by+", of a container that came back")
		h.Must(t, "rm", "-f", m.c.ID)
	}
	h.quiet(t, grace)
}
