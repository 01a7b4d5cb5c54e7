// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// composePlugin is the docker compose that the tests install for a person.
var composePlugin = sync.OnceValue(func() built {
	found, err := filepath.Glob(filepath.Join("..", "bin", "docker-compose-v*"))
	if err != nil || len(found) == 0 {
		return built{err: errors.Join(err, errors.New("no docker compose in bin: make compose"))}
	}
	path, err := filepath.Abs(found[len(found)-1])
	return built{path, err}
})

// Project is a compose project of a person's, in Dir.
type Project struct {
	*Host
	Name, Dir string
}

// project installs docker compose for a new user with the files of an example. Containers of its
// services have the label of this test run.
func project(t *testing.T, example string, services ...string) *Project {
	t.Helper()
	h := newHost(t, false)
	check(t, os.Symlink(must(t, composePlugin()), filepath.Join(h.Home, ".docker", "cli-plugins", "docker-compose")))
	check(t, os.CopyFS(h.Work, os.DirFS(filepath.Join("..", "examples", example))))
	p := &Project{Host: h, Name: unique(filepath.Base(h.Home)), Dir: h.Work}
	h.Env = append(h.Env, "IMAGE="+image(t, "busybox"), "COMPOSE_PROJECT_NAME="+p.Name)
	label := "services:\n"
	for _, s := range services {
		label += "  " + s + ": {labels: [\"" + runLabel + "\"], stop_grace_period: 0s}\n"
	}
	h.Write(t, h.Work, "label.yaml", label, 0o644)
	return p
}

// ours is a command line of docker hostexec compose, with the label.
func (p *Project) ours(options []string, file string, args ...string) []string {
	words := append([]string{"hostexec", "compose"}, options...)
	return append(append(words, "--", "--file", file, "--file", "label.yaml"), args...)
}

// plain is a command line of docker compose, with the label.
func (p *Project) plain(file string, args ...string) []string {
	return append([]string{"compose", "--file", file, "--file", "label.yaml"}, args...)
}

func (p *Project) id(t *testing.T, container string) string {
	t.Helper()
	return p.Must(t, "inspect", "--format", "{{.Id}}", p.Name+"-"+container)
}

// says has a container call, and wants the host's answer.
func (p *Project) says(t *testing.T, container, what string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r := p.Docker(t, "exec", p.Name+"-"+container, "make", "hello", "FROM="+what)
		switch {
		case strings.HasPrefix(r.Out, "hello, "+what+":"):
			return
		case !strings.HasPrefix(r.Out, "OCI runtime exec failed") || time.Now().After(deadline): // of one that has just started
			t.Fatalf("make in %s: %v", container, r)
		}
	}
}

// sessionOf is the session of a container, which is served.
func (p *Project) sessionOf(t *testing.T, container string) string {
	t.Helper()
	return strings.TrimSpace(p.Must(t, "hostexec", "status", "-q", "--filter", "container="+p.Name+"-"+container))
}

// TestIntegrationComposeExample runs the example from its first start to its end, with all that compose does to
// containers in between.
func TestIntegrationComposeExample(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose", "builder", "tester")
	options := []string{"--proxy", "make", "--proxy", "git=deny"}
	compose := func(args ...string) string { return p.Must(t, p.ours(options, "compose.yaml", args...)...) }
	t.Cleanup(func() { p.Docker(t, p.plain("compose.yaml", "--profile", "*", "down", "-t0")...) })
	compose("up", "-d")
	eventually(t, patience, "the first call has been answered", func() bool {
		return strings.Contains(compose("logs"), "hello, builder: this is the make of the host")
	})
	first := p.id(t, "builder-1")
	compose("up", "-d")
	want(t, "the container after up again", p.id(t, "builder-1"), first)
	want(t, "status", p.Must(t, "hostexec", "status", "--format", "{{.Container}} {{.Commands}} {{.State}}"), p.Name+"-builder-1 make,git=deny running\n")
	want(t, "the share's mode", p.Must(t, "inspect", "--format", `{{range .Mounts}}{{if eq .Destination "/run/hostexec"}}{{.RW}}{{end}}{{end}}`, p.Name+"-builder-1"), "false\n")
	session := p.sessionOf(t, "builder-1")
	want(t, "hostexec ls", p.Must(t, "exec", p.Name+"-builder-1", "hostexec", "ls"), "COMMAND   ACTION\nmake      allow\ngit       deny\n")

	compose("restart", "-t0")
	p.says(t, "builder-1", "restarted")
	want(t, "the session after a restart", p.sessionOf(t, "builder-1"), session)
	compose("up", "-d", "--force-recreate")
	p.says(t, "builder-1", "recreated")
	if p.sessionOf(t, "builder-1") == session {
		t.Error("a new container has the session of the old one")
	}
	compose("up", "-d", "--scale", "builder=2")
	p.says(t, "builder-2", "second")
	if p.sessionOf(t, "builder-1") == p.sessionOf(t, "builder-2") {
		t.Error("two containers share a session")
	}
	p.Must(t, "rm", "-f", p.Name+"-builder-1")
	p.says(t, "builder-2", "left")
	second := p.sessionOf(t, "builder-2")

	r := p.Docker(t, p.ours(options, "compose.yaml", "run", "--rm", "-T", "tester", "sh", "-c", "make hello FROM=tester; git status; exit $?")...)
	if r.Code != 126 || !strings.HasPrefix(r.Out, "hello, tester:") {
		t.Errorf("run: %v", r)
	}
	eventually(t, patience, "the session of run's container has ended", func() bool { return p.Must(t, "hostexec", "status", "-q") == second+"\n" })

	compose("stop", "-t0")
	eventually(t, leaves, "the watcher has gone", func() bool { return len(processes(p.State)) == 0 })
	p.Must(t, "hostexec", "prune", "-f")
	compose("start")
	p.says(t, "builder-2", "started")
	want(t, "the session after stop and start", p.sessionOf(t, "builder-2"), second)
	compose("down", "-t0")
	p.quiet(t, soon)
}

// TestIntegrationComposeCommandLine selects a service by a flag, and ends as compose ends: by its code, or its
// terminal's ^C.
func TestIntegrationComposeCommandLine(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	p.Write(t, p.Work, "plain.yaml", "services:\n  web: &a {image: \"${IMAGE}\", network_mode: none, labels: [\""+runLabel+"\"], working_dir: /w, stop_grace_period: 0s, "+
		"volumes: [\".:/w\"], command: [sh, -c, 'hsh -c \"echo called from $$PWD\"; exec sleep 1000']}\n  db: *a\n", 0o644)
	args := []string{"hostexec", "compose", "--proxy", "hsh=/bin/sh", "--service", "web", "--", "-f", "plain.yaml"}
	t.Cleanup(func() { p.Docker(t, "compose", "-f", "plain.yaml", "down", "-t0") })
	r := p.Docker(t, append(args, "run", "--rm", "-T", "web", "sh", "-c", "hsh -c 'echo $PWD; exit 7'")...)
	if r.Out != p.Work+"\n" || r.Code != 7 {
		t.Errorf("run: %v", r)
	}
	m := p.term(t, append([]string{"docker"}, append(args, "run", "--rm", "web", "sh", "-c", "test -t 1 && hsh -c 'test -t 1 && echo to a terminal'")...)...)
	m.Expect(t, "to a terminal")
	want(t, "code in a terminal", m.Wait(t), 0)

	m = p.term(t, append([]string{"docker"}, append(args, "up", "web")...)...)
	m.Expect(t, "called from ")
	m.Type(t, "\x03")
	want(t, "code after ^C", m.Wait(t), 0) // compose's
	eventually(t, patience, "the container has stopped", func() bool {
		return p.Must(t, "inspect", "--format", "{{.State.Running}}", p.Name+"-web-1") == "false\n"
	})
	p.Must(t, append(args, "up", "-d")...)
	want(t, "sessions beside a service that is not selected", p.Must(t, "hostexec", "status", "--format", "{{.Container}}"), p.Name+"-web-1\n")
	p.Must(t, "compose", "-f", "plain.yaml", "down", "-t0")
	p.quiet(t, leaves)
}

// TestIntegrationComposeBuilt builds the image first: its PATH counts.
func TestIntegrationComposeBuilt(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	p.Write(t, p.Work, "Dockerfile", "FROM "+image(t, "busybox")+"\nENV PATH=/opt/of-the-image:/bin\nLABEL io.hostexec.proxy=hsh\n", 0o644)
	p.Write(t, p.Work, "built.yaml", "services:\n  web: {build: ., network_mode: none, labels: [\""+runLabel+"\"]}\n", 0o644)
	t.Cleanup(func() { p.Docker(t, "image", "rm", "-f", p.Name+"-web") })
	r := p.Docker(t, "hostexec", "compose", "--proxy", "hsh=/bin/sh", "--", "-f", "built.yaml", "run", "--rm", "-T", "web", "sh", "-c", "echo $PATH; hsh -c 'echo called'")
	if !strings.HasSuffix(r.Out, "\n/run/hostexec/bin:/opt/of-the-image:/bin\ncalled\n") || r.Code != 0 { // after the build's progress
		t.Errorf("run: %v", r)
	}
	p.quiet(t, soon)
}

// TestIntegrationComposeRelays checks that each of two containers of a service has its own relay: after it was
// added, after a restart, and after the other one is removed. No call of the other container may end.
func TestIntegrationComposeRelays(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose", "web")
	p.Write(t, p.Work, "relays.yaml", "services:\n  web: {image: \"${IMAGE}\", command: tail -f /dev/null, network_mode: none}\n", 0o644)
	compose := func(args ...string) {
		t.Helper()
		p.Must(t, p.ours([]string{"--service", "web", "--proxy", "make", "--proxy", "hsh=/bin/sh", "--carrier", "relay", "--workspace"}, "relays.yaml", args...)...)
	}
	compose("up", "-d", "--scale", "web=2")
	p.says(t, "web-1", "one")
	p.says(t, "web-2", "two")
	p.Must(t, "restart", "-t0", p.Name+"-web-2")
	p.says(t, "web-2", "again")

	p.Must(t, "exec", "-d", p.Name+"-web-2", "hsh", "-c", "echo $$ >number.new; mv number.new number; exec sleep 1000")
	eventually(t, patience, "a call of the second runs", func() bool { return exists(p.Work + "/number") })
	long := hold(t, atoi(t, string(readFile(t, p.Work+"/number"))))
	p.Must(t, "rm", "-f", p.Name+"-web-1")
	p.says(t, "web-2", "left")
	want(t, "the call of before has gone", long.Gone(0), false)
	compose("down", "-t0")
	long.Ends(t, grace)
	p.quiet(t, soon)
}

// TestIntegrationComposeHostile checks that a compose file cannot mount hostexec's state in any way
// that compose has, nor ask for more than the host allows.
//
// Attacks 197, 240.
func TestIntegrationComposeHostile(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose", "web")
	p.Must(t, "create", "--label", runLabel, "--name", p.Name+"-lender", "-v", p.State+":/s", image(t, "busybox"), "true")
	t.Cleanup(func() { p.Docker(t, "rm", "-f", p.Name+"-lender") })
	parent := filepath.Dir(p.State)
	check(t, os.Symlink(p.State, filepath.Join(p.Work, "link")))
	const covers = "covers hostexec's own state"
	tests := []struct{ name, more, err string }{
		{"bind", "volumes: ['" + p.State + ":/s']}", covers},
		{"bind of a link", "volumes: ['./link:/s']}", covers},
		{"bind of a parent", "volumes: ['" + parent + ":/s']}", covers},
		{"volume with a device", "volumes: ['kept:/s']}\nvolumes:\n  kept: {driver_opts: {type: none, o: bind, device: '" + p.State + "'}}", covers},
		{"overlay", "volumes: ['over:/s']}\nvolumes:\n  over: {driver_opts: {type: overlay, device: overlay, o: 'lowerdir=" + p.State + ":" + p.Work + "'}}", covers},
		{"secret", "secrets: [s]}\nsecrets: {s: {file: '" + p.State + "/config.yaml'}}", covers},
		{"config", "configs: [c]}\nconfigs: {c: {file: '" + p.State + "/config.yaml'}}", covers},
		{"volumes_from a service", "volumes_from: [other]}\n  other: {image: \"${IMAGE}\", labels: [\"" + runLabel + "\"], volumes: ['" + p.State + ":/s']}", covers},
		{"volumes_from a container", "volumes_from: ['container:" + p.Name + "-lender']}", covers},
		{"a mount over the share", "volumes: ['.:/run/hostexec/bin']}", "is in the way"},
		{"a label that asks for more", "labels: {io.hostexec.proxy: 'hsh,git'}}", "asks for git"},
		{"a label with a path", "labels: {io.hostexec.proxy: 'sh=/bin/sh'}}", "label io.hostexec.proxy"},
	}
	check(t, os.WriteFile(filepath.Join(p.State, "config.yaml"), []byte("{}\n"), 0o600))
	for _, tt := range tests {
		p.Write(t, p.Work, "bad.yaml", "services:\n  web: {image: \"${IMAGE}\", network_mode: none, command: 'tail -f /dev/null', "+tt.more+"\n", 0o644)
		r := p.Docker(t, "hostexec", "compose", "--proxy", "hsh=/bin/sh", "--service", "web", "--", "-f", "bad.yaml", "-f", "label.yaml", "up", "-d")
		if r.Code == 0 || !strings.Contains(r.Err, tt.err) {
			t.Errorf("%s: %v, want stderr with %q", tt.name, r, tt.err)
		}
		if left := p.Must(t, "ps", "-aq", "--filter", "label=com.docker.compose.project="+p.Name, "--filter", "label=com.docker.compose.service=web"); left != "" {
			t.Errorf("%s: container %s is left", tt.name, left)
		}
		p.Must(t, "compose", "-f", "bad.yaml", "-f", "label.yaml", "down", "-t0", "-v")
	}
	p.quiet(t, leaves)
}

// TestIntegrationComposeDotenv: a project's .env, which a container may write, is not the environment of commands.
//
// Attack 186.
func TestIntegrationComposeDotenv(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose", "builder")
	p.Write(t, p.Work, ".env", "GIT_SSH_COMMAND=planted\nDOCKER_HOST=unix:///nonexistent/planted\nDOCKER_CONTEXT=planted\nHOSTEXEC_HOME=/nonexistent/planted\n", 0o644)
	t.Cleanup(func() { p.Docker(t, p.plain("compose.yaml", "down", "-t0")...) })
	p.Must(t, p.ours([]string{"--proxy", "make"}, "compose.yaml", "up", "-d")...)
	p.says(t, "builder-1", "here")
	served := processes(p.State)
	want(t, "a watcher is there", len(served) > 0, true)
	for _, pid := range served {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || strings.Contains(string(env), "planted") {
			t.Errorf("the environment of %s, with what .env says: %q, %v", cmdline(pid), env, err)
		}
	}
}

// TestIntegrationComposeMisused checks that each mistake is reported and leaves nothing behind.
func TestIntegrationComposeMisused(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	p.Write(t, p.Work, "none.yaml", "services:\n  a: {image: x}\n  b: {image: x}\n", 0o644)
	tests := []struct {
		args string
		code int
		err  string
	}{
		{"--proxy no-such-command --service a -- -f none.yaml up", 125, "'no-such-command' not found"},
		{"--http= -- -f none.yaml up", 125, "--http"},
		{"-- --nonsense up", 1, "unknown flag: --nonsense"}, // compose's
		{"-- -f nowhere.yaml up", 1, "nowhere.yaml"},
		{"-- -f none.yaml ps --nonsense", 1, "unknown flag: --nonsense"},
	}
	for _, tt := range tests {
		r := p.Docker(t, append([]string{"hostexec", "compose"}, strings.Fields(tt.args)...)...)
		if r.Code != tt.code || !strings.Contains(r.Err, tt.err) || strings.Contains(r.Err, "hostexec: hostexec:") {
			t.Errorf("compose %s: %v\nwant code %d, stderr with %q", tt.args, r, tt.code, tt.err)
		}
	}
	r := p.Docker(t, "hostexec", "compose", "--nonsense")
	if r.Code == 0 || !strings.Contains(r.Err, "unknown flag: --nonsense") {
		t.Errorf("an unknown flag: %v", r)
	}
	p.quiet(t, soon)
}
