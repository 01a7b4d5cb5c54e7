// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// withDocker returns docker's arguments for docker itself as the client of a proxy.
func withDocker(flags string, client ...string) []string {
	return with(strings.Fields(flags), append([]string{"docker"}, client...)...)
}

// clientRun returns the arguments of docker run or create, for a container that says where a call of it runs.
func (h *Host) clientRun(t *testing.T, verb string, more ...string) []string {
	words := append([]string{verb, "--label", runLabel, "--network", "none", "-v", h.Work + ":/w", "-w", "/w"}, more...)
	return append(words, image(t, "busybox"))
}

// TestIntegrationWith checks that docker run gets a session from with, as the container's label and the flags
// determine.
//
// Attack 240.
func TestIntegrationWith(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	const call = `hsh -c 'echo "$PWD $HOST_SECRET"; exit 7'`
	for _, tt := range []struct{ flags, label, out, err string }{
		{"--proxy hsh=/bin/sh --all", "", h.Work + " of the host\n7\n", ""},
		{"--proxy hsh=/bin/sh --proxy make", "io.hostexec.proxy=hsh", h.Work + " of the host\n7\n", ""},
		{"--proxy hsh=/bin/sh --label team=a", "team=a", h.Work + " of the host\n7\n", ""},
		{"--proxy hsh=/bin/sh --service web", "com.docker.compose.service=web", h.Work + " of the host\n7\n", ""},
		{"--proxy hsh=/bin/sh", "", "127\n", "hsh: not found"},
		{"--proxy hsh=/bin/sh --service web", "io.hostexec.proxy=hsh", "127\n", "hsh: not found"},
		{"--proxy hsh=/bin/sh --proxy make", "io.hostexec.proxy=make", "127\n", "hsh: not found"},
		{"--proxy make", "io.hostexec.proxy=make,git", "", "label io.hostexec.proxy asks for git, which this host does not allow it\nhostexec: hint: docker hostexec with --proxy git allows it"},
		{"", "io.hostexec.proxy=shell", "", "docker hostexec with --proxy-shell allows it"},
	} {
		label := tt.label
		if label == "" {
			label = "none=1"
		}
		r := h.Docker(t, withDocker(tt.flags, append(h.clientRun(t, "run", "--rm", "--label", label), "sh", "-c", call+"; echo $?")...)...)
		if r.Out != tt.out || !strings.Contains(r.Err, tt.err) || (tt.out == "") != (r.Code == 125) {
			t.Errorf("with %s, label %q: %v", tt.flags, tt.label, r)
		}
	}
	eventually(t, patience, "the sessions have gone with their containers", func() bool { return len(h.Sessions(t)) == 0 })
}

// TestIntegrationWithLife checks that a client's container keeps its session until it is removed,
// whoever starts it, and gets it back with each start through a proxy.
func TestIntegrationWithLife(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	name := unique("with-life")
	h.Must(t, withDocker("--proxy hsh=/bin/sh --all", append(h.clientRun(t, "create", "--name", name, "--stop-timeout", "0"), "sleep", "1000")...)...)
	state := func() string {
		return field(h.Must(t, "hostexec", "status", "-a", "--format", "{{.Container}} {{.State}}"), name+" ")
	}
	says := func(when string) {
		t.Helper()
		eventually(t, patience, "a call is answered "+when, func() bool {
			return h.Docker(t, "exec", name, "hsh", "-c", "echo $PWD").Out == h.Work+"\n"
		})
	}
	want(t, "the state before the first start", state(), "waiting")
	other := unique("with-unstarted")
	t.Cleanup(func() { h.Docker(t, "rm", "-f", other) })
	h.Docker(t, append(h.runArgs("--proxy", "hsh=/bin/sh", "--name", other), image(t, "busybox"), "/no/such/program")...) // is created only
	eventually(t, patience, "a session of run has ended, whose container did not start", func() bool {
		return field(h.Must(t, "hostexec", "status", "-a", "--format", "{{.Container}} {{.State}}"), other+" ") != "waiting"
	})
	want(t, "the state long before the first start", state(), "waiting")
	h.Must(t, "start", name)
	says("after the first start")
	want(t, "the state", state(), "running")
	h.Must(t, withDocker("", "restart", name)...)
	says("after a restart")
	h.Must(t, "stop", name)
	eventually(t, patience, "the watcher has ended", func() bool { return state() == "exited" })
	h.Must(t, withDocker("", "start", name)...)
	says("after stop and start")
	h.Must(t, "hostexec", "stop", name)
	h.Must(t, withDocker("", "restart", name)...)
	want(t, "the state after somebody has ended the session", state(), "stopped")
	h.Must(t, "hostexec", "resume", name)
	h.Must(t, "rm", "-f", name, other)
	h.Must(t, "hostexec", "prune", "-f") // the other one's, which ended before its container was removed
	eventually(t, patience, "the session has gone", func() bool { return len(h.Sessions(t)) == 0 })
}

// TestIntegrationWithBanner checks that with prints the banner of run at a terminal.
func TestIntegrationWithBanner(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	h.Env = append(h.Env, "DOCKER_CLI_HINTS=false")
	name := unique("with-banner")
	m := h.term(t, append([]string{"docker"}, withDocker("--proxy make --all", append(h.clientRun(t, "run", "--rm", "--name", name), "echo", "ran")...)...)...)
	m.Expect(t, "ran")
	m.Expect(t, "hostexec: container "+name+": session ")
	m.Expect(t, "make runs on this host when the container calls")
	m.Expect(t, "HOST CODE EXECUTION: make runs code from "+h.Work)
	want(t, "the code", m.Wait(t), 0)
	if r := h.Docker(t, withDocker("--proxy make --all", append(h.clientRun(t, "run", "--rm"), "true")...)...); r.Code != 0 || r.Out+r.Err != "" {
		t.Errorf("in a script: %v", r)
	}
}

// TestIntegrationAttackWithMounts mounts protected files in ways that only the engine resolves.
//
// Attack 242.
func TestIntegrationAttackWithMounts(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	volume, lender, name := unique("with-volume"), unique("with-lender"), unique("with-borrower")
	inState := filepath.Join(h.State, "sessions")
	check(t, os.MkdirAll(inState, 0o700))
	h.Must(t, "volume", "create", "--label", runLabel, "-o", "type=none", "-o", "o=bind", "-o", "device="+inState, volume)
	t.Cleanup(func() { h.Docker(t, "volume", "rm", volume) })
	h.Must(t, "create", "--label", runLabel, "--name", lender, "-v", inState+":/stolen", image(t, "busybox"))
	t.Cleanup(func() { h.Docker(t, "rm", "-f", lender) })
	for what, flags := range map[string][]string{
		"volumes_from": {"--volumes-from", lender}, "a volume's options": {"-v", volume + ":/stolen"}, "a bind mount": {"-v", inState + ":/stolen"},
		"hostexec's own place": {"-v", h.Work + ":/run/hostexec"},
	} {
		r := h.Docker(t, withDocker("--proxy hsh=/bin/sh --all", append(h.clientRun(t, "run", append(flags, "--name", name)...), "true")...)...)
		if r.Code != 125 || !strings.Contains(r.Err, "hostexec") || !strings.Contains(r.Err, "mount") {
			t.Errorf("%s: %v", what, r)
		}
		want(t, "the container with "+what, h.Must(t, "ps", "-aq", "--filter", "name="+name), "")
	}
	eventually(t, patience, "the sessions are gone", func() bool { return len(h.Sessions(t)) == 0 })
}

// TestIntegrationAttackWithOthers checks that containers that are not selected cannot mount what
// belongs to hostexec: the share of another container's session, or the state directory.
//
// Attack 254.
func TestIntegrationAttackWithOthers(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	lender, name := unique("with-lends"), unique("with-other")
	h.Must(t, withDocker("--carrier socket --proxy hsh=/bin/sh --all", append(h.clientRun(t, "run", "-d", "--name", lender), "sleep", "1000")...)...)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", lender) })
	session := filepath.Base(h.Sessions(t)[0])
	h.Must(t, "hostexec", "devcontainer", "--start", "dev", "--proxy", "hsh=/bin/sh")
	dev, err := filepath.EvalSymlinks(filepath.Join(h.State, "services", "-devcontainers", "dev"))
	check(t, err)
	devSession := filepath.Base(filepath.Dir(dev))
	t.Cleanup(func() { h.Docker(t, "hostexec", "stop", devSession) })
	share, at := filepath.Join(h.State, "sessions", session, "share"), filepath.Join(h.Work, "other")
	check(t, os.Mkdir(at, 0o755))
	refused := func(what string, client ...string) {
		t.Helper()
		r := h.Docker(t, withDocker("--proxy git --service web", client...)...)
		if r.Code == 0 || !strings.Contains(r.Err, "covers hostexec's own state") || strings.Contains(r.Out, "called") {
			t.Errorf("%s: %v", what, r)
		}
	}
	for what, flags := range map[string][]string{
		"volumes_from": {"--volumes-from", lender}, "the share": {"-v", share + ":/run/hostexec"}, "the state": {"-v", h.State + ":/x:ro"},
		"a forged label":          {"-v", share + ":/run/hostexec", "--label", "io.hostexec.session=" + session},
		"a dev container's label": {"-v", dev + ":/run/hostexec:ro", "--label", "io.hostexec.session=" + devSession},
	} {
		refused(what, append(h.clientRun(t, "run", append(flags, "--rm", "--name", name)...), "/run/hostexec/bin/hsh", "-c", "echo called")...)
		want(t, "the container with "+what, h.Must(t, "ps", "-aq", "--filter", "name="+name), "")
	}
	h.Must(t, withDocker("--proxy git --service web", append(h.clientRun(t, "create", "--name", name, "-v", at+":/x"), "true")...)...)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
	check(t, os.Remove(at))
	check(t, os.Symlink(h.State, at))
	refused("another directory at the start", "start", name)
	want(t, "the lender's call", h.Must(t, "exec", lender, "hsh", "-c", "echo called"), "called\n")
}

// TestIntegrationAttackWithStart changes where a mounted directory leads before a container starts again.
//
// Attack 243.
func TestIntegrationAttackWithStart(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	name, at := unique("with-again"), filepath.Join(h.Work, "data")
	check(t, os.Mkdir(at, 0o755))
	h.Must(t, withDocker("--proxy hsh=/bin/sh --all", append(h.clientRun(t, "run", "-d", "--name", name, "--stop-timeout", "0", "-v", at+":/data"), "sleep", "1000")...)...)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
	h.Must(t, "stop", name)
	check(t, os.Remove(at))
	check(t, os.Symlink(filepath.Join(h.State, "sessions"), at))
	for _, verb := range []string{"start", "restart"} {
		r := h.Docker(t, withDocker("", verb, name)...)
		if r.Code != 1 || !strings.Contains(r.Err, "covers hostexec's own state") || !strings.Contains(r.Err, "hint: the container is kept, but not started") {
			t.Errorf("%s: %v", verb, r)
		}
	}
	want(t, "its state", h.Must(t, "inspect", "--format", "{{.State.Status}}", name), "exited\n")
}

// TestIntegrationWithKilled kills a client or with at each moment: no session stays without its
// container.
func TestIntegrationWithKilled(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	name := unique("with-killed")
	create := []string{"create", "--label", runLabel, "--label", name, image(t, "busybox")}
	for _, after := range []time.Duration{20, 60, 100, 150, 200, 300} {
		ctx, cancel := context.WithTimeout(context.Background(), after*time.Millisecond)
		_ = h.Command(ctx, "docker", withDocker("--all --proxy hsh=/bin/sh", create...)...).Run() // with and the client are killed
		cancel()
		script := fmt.Sprintf(`docker "$@" & sleep %.3f; kill -9 $!; wait`, (after * time.Millisecond).Seconds())
		h.Must(t, append([]string{"hostexec", "with", "--all", "--proxy", "hsh=/bin/sh", "--", "sh", "-c", script, "sh"}, create...)...)
	}
	eventually(t, patience, "each session has a container, and each container a session", func() bool {
		ids := strings.Fields(h.Must(t, "ps", "-a", "--filter", "label="+name, "--format", `{{.Label "io.hostexec.session"}}`))
		for _, id := range ids {
			if _, err := os.Stat(filepath.Join(h.State, "sessions", id)); err != nil {
				return false
			}
		}
		return len(h.Sessions(t)) == len(ids)
	})
}

// TestIntegrationWithEngines reaches the engine in each of docker's ways. The sessions must record the engine, not the
// proxy's socket.
func TestIntegrationWithEngines(t *testing.T) {
	t.Parallel()
	const socket = "/var/run/docker.sock"
	for name, route := range map[string]func(*testing.T, *Host) (flags []string){
		"tcp://": func(t *testing.T, _ *Host) []string {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			t.Cleanup(func() { ln.Close() })
			// ends with ln.
			go forward(ln, socket)
			return []string{"--host", "tcp://" + ln.Addr().String()}
		},
		"tcp://127.0.0.1": func(t *testing.T, h *Host) []string { return tlsContext(t, h, socket) },
		"ssh://127.0.0.1": func(t *testing.T, h *Host) []string { return overSSH(t, h, socket) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, false)
			flags, container := route(t, h), unique("with-engines")
			args := withDocker("--proxy hsh=/bin/sh --all", append(h.clientRun(t, "run", "-d", "--name", container), "sleep", "1000")...)
			h.Must(t, append(flags, args...)...)
			t.Cleanup(func() { h.Docker(t, "rm", "-f", container) })
			want(t, "a call", h.Must(t, "exec", container, "hsh", "-c", "echo $PWD"), h.Work+"\n")
			rec := h.Must(t, "hostexec", "inspect", container)
			if !strings.Contains(rec, `"engine": "`+name) || strings.Contains(rec, "docker.sock") {
				t.Errorf("the record: %s", rec)
			}
			h.Must(t, "rm", "-f", container)
			eventually(t, patience, "the session has gone, before its route to the engine", func() bool { return len(h.Sessions(t)) == 0 })
		})
	}
}

// TestIntegrationAttackWithImage uses an image whose labels ask for a service and for commands.
//
// Attack 241.
func TestIntegrationAttackWithImage(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	for _, tt := range []struct{ label, flags, out string }{
		{"com.docker.compose.service=web", "--proxy hsh=/bin/sh --service web", "127\n"}, // it is no service of compose's
		{"io.hostexec.proxy=hsh", "--proxy hsh=/bin/sh --proxy make", "called\n0\n"},
		{"io.hostexec.proxy=hsh,git", "--proxy hsh=/bin/sh", ""},
	} {
		made := strings.TrimSpace(h.Must(t, "create", "--label", runLabel, image(t, "busybox"), "true"))
		ref := strings.TrimSpace(h.Must(t, "commit", "--change", "LABEL "+tt.label, made))
		r := h.Docker(t, withDocker(tt.flags, "run", "--rm", "--label", runLabel, "--network", "none", "-v", h.Work+":/w", "-w", "/w", ref, "sh", "-c", "hsh -c 'echo called'; echo $?")...)
		h.Docker(t, "rm", made)
		h.Docker(t, "rmi", ref)
		if r.Out != tt.out || (tt.out == "") != strings.Contains(r.Err, "asks for git") {
			t.Errorf("an image with %s, and %s: %v", tt.label, tt.flags, r)
		}
	}
}

// TestIntegrationWithLostWatcher: a container that was never started is served at its first start, although its watcher
// was killed. Two clients may start it at the same time.
func TestIntegrationWithLostWatcher(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	name := unique("with-lost")
	h.Must(t, withDocker("--proxy hsh=/bin/sh --all", append(h.clientRun(t, "create", "--name", name), "sleep", "1000")...)...)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
	id := strings.TrimSpace(h.Must(t, "hostexec", "status", "-q"))
	h.Must(t, "hostexec", "stop", id)
	check(t, os.Remove(filepath.Join(h.State, "sessions", id, "stopped"))) // as if it had been killed
	h.Must(t, "hostexec", "with", "--", "sh", "-c", "docker start "+name+" & docker start "+name+" && wait $!")
	want(t, "a call", h.Must(t, "exec", name, "hsh", "-c", "echo $PWD"), h.Work+"\n")
	want(t, "the state", strings.TrimSpace(h.Must(t, "hostexec", "status", "--format", "{{.State}}")), "running")
}
