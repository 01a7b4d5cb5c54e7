// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// peer is a way to run a command that does nothing.
type peer struct {
	name   string
	target float64 // the least multiple of a call's time; 0: none
	time   func() []int64
	took   []int64
}

// flatpakSpawn is a client of HostCommand, which users of toolbox call. host-spawn makes the same calls.
const flatpakSpawn = "/usr/libexec/flatpak-xdg-utils/flatpak-spawn"

// peers measures calls against the other ways to run a command of the host from a container, or the reverse. All take
// turns.
func (b *bench) peers(t *testing.T) {
	const rounds, each = 40, 5
	socket := b.through(t, "socket") // makes noop and empty
	noop := filepath.Join(b.host.Home, "noop")
	writeNoop(t, filepath.Join(b.host.Work, "noop"))
	clock := func(name string, args ...string) func() []int64 {
		return func() []int64 { return []int64{b.clock(t, name, args...)} }
	}
	b.sshConfig = "SetEnv HOME=" + b.host.Home // bash reads .bashrc there, which may take longer than all else
	shim, ssh := "/run/hostexec/bin/noop", b.ssh(t)
	newConnection := slices.Insert(slices.Clone(ssh), len(ssh)-1, "-S", "none")
	all := []*peer{
		{name: "a call", time: b.inside(t, socket, each, shim)},
		{name: "start of an empty program", time: b.inside(t, socket, each, "/w/empty")},
		{name: "a call over a relay", time: b.inside(t, b.through(t, "relay"), each, shim)},
		{name: "a call by files", time: b.inside(t, b.through(t, "files"), each, shim)},
		{name: "docker exec by the engine's API", time: b.execByAPI(t, socket.ID, "/w/noop")},
		{name: "docker exec", target: 25, time: clock("docker", "exec", socket.ID, "/w/noop")},
		{name: "ssh over a shared connection", target: 5, time: clock("ssh", append(ssh, noop)...)},
		{name: "ssh with a new connection", time: clock("ssh", append(newConnection, noop)...)},
	}
	c := b.peersContainer(t)
	all = append(all, b.byInotify(t, c, noop)...)
	all = append(all, b.byDBus(t, c, noop)...)
	for i := range rounds {
		for j := range all {
			p := all[(i+j)%len(all)] // each runs after each other one
			p.took = append(p.took, p.time()...)
		}
	}
	p50 := quantile(all[0].took, 0.5)
	for _, p := range all {
		times := quantile(p.took, 0.5) / p50
		target := ""
		if p.target > 0 {
			target = ">= " + itoa(int(p.target))
		}
		b.row(p.name+", p50, as a multiple of a call", ratio(times), target, times >= p.target)
		b.row(p.name+", p95, as a multiple of a call's p50", ratio(quantile(p.took, 0.95)/p50), "", true)
		b.point("peers", p.name, times, quantile(p.took, 0.95)/p50)
	}
}

// execByAPI runs a command in a container as docker exec does, but over an existing connection.
func (b *bench) execByAPI(t *testing.T, id string, argv ...string) func() []int64 {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	check(t, err)
	t.Cleanup(func() { api.Close() })
	return func() []int64 {
		start, ctx := time.Now(), t.Context()
		o := container.ExecOptions{Cmd: argv, AttachStdout: true, AttachStderr: true}
		exec, err := api.ContainerExecCreate(ctx, id, o)
		check(t, err)
		stream, err := api.ContainerExecAttach(ctx, exec.ID, container.ExecAttachOptions{})
		check(t, err)
		_, err = io.Copy(io.Discard, stream.Reader)
		check(t, err)
		stream.Close()
		st, err := api.ContainerExecInspect(ctx, exec.ID)
		check(t, err)
		took := time.Since(start).Nanoseconds()
		want(t, "code of an exec by the API", st.ExitCode, 0)
		return []int64{took}
	}
}

// inside measures n runs of a program in a container.
func (b *bench) inside(t *testing.T, c *Container, n int, argv ...string) func() []int64 {
	return func() []int64 { return b.timesOf(t, c, append([]string{"times", itoa(n)}, argv...)...)[0] }
}

// byInotify is the file proxy as its description has it: a script on both sides, and inotifywait.
func (b *bench) byInotify(t *testing.T, c *Container, noop string) []*peer {
	t.Helper()
	const name = "a proxy of bash and inotifywait"
	if b.lacks(name, find(t, "bash"), "/usr/bin/inotifywait") {
		return nil
	}
	dir := filepath.Join(b.host.Work, "proxy")
	b.host.mkdir(t, dir)
	script, err := filepath.Abs("testdata/proxy000.sh")
	check(t, err)
	b.background(t, "bash", script, dir, noop)
	client := strings.ReplaceAll(string(readFile(t, "testdata/source000.sh")), "@DIR@", "/w/proxy")
	b.host.Write(t, b.host.Work, "noop000", client, 0o755)
	eventually(t, patience, "the proxy answers", func() bool {
		return c.Exec(t, "env", "PROXY_TIMEOUT=2", "/w/noop000").Code == 0
	})
	polls := b.by["socket"] // its image has no inotifywait
	return []*peer{
		{name: name, time: b.inside(t, c, 2, "/w/noop000")},
		{name: "a bash proxy without inotifywait", time: b.inside(t, polls, 2, "/w/noop000")},
	}
}

// byDBus is HostCommand of Flatpak's session helper, which a bus of our own starts.
func (b *bench) byDBus(t *testing.T, c *Container, noop string) []*peer {
	t.Helper()
	const name = "HostCommand over D-Bus"
	if b.lacks(name, "/usr/bin/dbus-daemon", "/usr/libexec/flatpak-session-helper", flatpakSpawn) {
		return nil
	}
	bus := filepath.Join(b.host.Work, "bus")
	b.background(t, "dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=unix:path="+bus)
	argv := []string{"/bin/flatpak-spawn", "--host", "--directory=/", noop}
	eventually(t, patience, "the session helper answers", func() bool { return c.Exec(t, argv...).Code == 0 })
	return []*peer{{name: name, time: b.inside(t, c, 5, argv...)}}
}

// lacks reports whether a program of a peer is missing. If so, it adds a row that names the program.
func (b *bench) lacks(name string, programs ...string) bool {
	for _, p := range programs {
		if _, err := os.Stat(p); err != nil {
			b.row(name, "left out: there is no "+p+"; make bench installs it if it runs as root", "", true)
			return true
		}
	}
	return false
}

// peerPrograms are the programs of peers, by their path in the image.
var peerPrograms = map[string]string{"/bin/inotifywait": "/usr/bin/inotifywait", "/bin/flatpak-spawn": flatpakSpawn}

func peersImage(t testing.TB) *rootfs {
	fs := fullImage(t)
	for path, src := range peerPrograms {
		if _, err := os.Stat(src); err == nil {
			fs.copy(t, src, path)
			fs.libraries(t, src)
		}
	}
	return fs
}

// peersContainer starts a container without a session, in which the programs of peers call.
func (b *bench) peersContainer(t *testing.T) *Container {
	t.Helper()
	args := []string{"run", "-d", "--label", runLabel, "--network", "none", "-v", b.host.Work + ":/w", "-w", "/w",
		"-e", "DBUS_SESSION_BUS_ADDRESS=unix:path=/w/bus", image(t, "peers"), "/probe", "hold"}
	id := strings.TrimSpace(b.host.Must(t, args...))
	t.Cleanup(func() { b.host.Docker(t, "rm", "-f", "-v", id) })
	return &Container{Host: b.host, ID: id, User: "0"}
}
