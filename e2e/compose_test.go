// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// project installs docker compose for a new person, who has the files of an example. Containers of its services
// carry the label of this run of the tests.
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

// args are docker's for compose, ours or plain, with the label. It is all that compose is
// told.
func (p *Project) args(ours bool, file string, args ...string) []string {
	words := []string{"compose"}
	if ours {
		words = []string{"hostexec", "compose", "--"}
	}
	return append(append(words, "--file", file, "--file", "label.yaml"), args...)
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

// TestIntegrationComposeExample runs the example from its first start to its end, with all
// that compose does to containers in between.
func TestIntegrationComposeExample(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose", "builder", "tester")
	compose := func(args ...string) string { return p.Must(t, p.args(true, "compose.yaml", args...)...) }
	t.Cleanup(func() { p.Docker(t, p.args(false, "compose.yaml", "--profile", "*", "down", "-t0")...) })
	compose("up", "-d")
	eventually(t, patience, "the first call has been answered", func() bool {
		return strings.Contains(compose("logs"), "hello, builder: this is the make of the host")
	})
	first := p.id(t, "builder-1")
	compose("up", "-d")
	want(t, "the container after up again", p.id(t, "builder-1"), first)
	want(t, "status", p.Must(t, "hostexec", "status", "--format", "{{.Container}} {{.Commands}} {{.State}}"), p.Name+"-builder-1 make running\n")
	want(t, "the share's mode", p.Must(t, "inspect", "--format", `{{range .Mounts}}{{if eq .Destination "/run/hostexec"}}{{.RW}}{{end}}{{end}}`, p.Name+"-builder-1"), "false\n")
	session := strings.TrimSpace(p.Must(t, "hostexec", "status", "-q"))

	explained := p.Must(t, "hostexec", "policy", "explain", "--session", session, "make", "hello")
	if !strings.Contains(explained, "make hello: allow") {
		t.Errorf("policy explain: %s", explained)
	}
	want(t, "hostexec ls", p.Must(t, "exec", p.Name+"-builder-1", "hostexec", "ls"), "COMMAND   ACTION\nmake      allow\n")

	compose("restart", "-t0")
	p.says(t, "builder-1", "restarted")
	want(t, "the session after a restart", strings.TrimSpace(p.Must(t, "hostexec", "status", "-q")), session)
	compose("up", "-d", "--force-recreate")
	p.says(t, "builder-1", "recreated")
	compose("up", "-d", "--scale", "builder=2")
	p.says(t, "builder-2", "second")
	p.Must(t, "rm", "-f", p.Name+"-builder-1")
	p.says(t, "builder-2", "left")

	r := p.Docker(t, p.args(true, "compose.yaml", "run", "--rm", "-T", "tester", "sh", "-c", "make hello FROM=tester; git status; exit $?")...)
	if r.Code != 126 || !strings.HasPrefix(r.Out, "hello, tester:") {
		t.Errorf("run: %v", r)
	}
	eventually(t, patience, "the session of run's container has ended", func() bool { return p.Must(t, "hostexec", "status", "-q") == session+"\n" })
	want(t, "detach", p.Docker(t, "hostexec", "detach", session).Code, 1)

	compose("stop", "-t0")
	eventually(t, leaves, "the watcher has gone", func() bool { return len(processes(p.State)) == 0 })
	p.Must(t, "hostexec", "prune", "-f")
	compose("start")
	p.says(t, "builder-2", "started")
	compose("down", "-t0")
	p.quiet(t, soon)
}

// TestIntegrationComposeCommandLine chooses a service by flags, and ends as compose ends: by its code, or its
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
	// What a command names without being about it alone takes nothing away from others.
	args = []string{"hostexec", "compose", "--proxy", "hsh=/bin/sh", "--service", "web", "--service", "db", "--", "-f", "plain.yaml"}
	p.Must(t, append(args, "up", "-d")...)
	db := p.id(t, "db-1")
	p.Must(t, append(args, "up", "-d", "--scale", "web=2")...)
	want(t, "the other service's container", p.id(t, "db-1"), db)
	p.Must(t, "compose", "-f", "plain.yaml", "down", "-t0")
	p.quiet(t, leaves)
}

// TestIntegrationComposeBuilt has an image built first: its PATH counts.
func TestIntegrationComposeBuilt(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	p.Write(t, p.Work, "Dockerfile", "FROM "+image(t, "busybox")+"\nENV PATH=/opt/of-the-image:/bin\n", 0o644)
	p.Write(t, p.Work, "built.yaml", "services:\n  web: {build: ., network_mode: none, labels: [\""+runLabel+"\"], x-hostexec: {proxy: hsh=/bin/sh}}\n", 0o644)
	t.Cleanup(func() { p.Docker(t, "image", "rm", "-f", p.Name+"-web") })
	r := p.Docker(t, "hostexec", "compose", "--", "-f", "built.yaml", "run", "--rm", "-T", "web", "sh", "-c", "echo $PATH; hsh -c 'echo called'")
	if r.Out != "/run/hostexec/bin:/opt/of-the-image:/bin\ncalled\n" || r.Code != 0 {
		t.Errorf("run: %v", r)
	}
	p.quiet(t, soon)
}

// TestIntegrationComposeFiles reads which files compose takes, and what is added to them.
func TestIntegrationComposeFiles(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	check(t, os.Remove(filepath.Join(p.Work, "compose.yaml")))
	file := func(name, env string) {
		p.Write(t, p.Work, name, "x-hostexec: {proxy: hsh=/bin/sh, service: web}\nservices:\n  web: {image: x, environment: {PATH: '/a$$b', "+env+": '${V:-}'}}\n"+
			"  extra: {image: x, profiles: [more], x-hostexec: {pass-env: [A]}}\n", 0o644)
	}
	check(t, os.MkdirAll(filepath.Join(p.Work, "sub", "deep"), 0o755))
	check(t, os.MkdirAll(filepath.Join(p.Work, "lines"), 0o755))
	file("compose.yaml", "FOUND")
	file("compose.override.yaml", "OVERRIDDEN")
	file("sub/named.yaml", "NAMED")
	p.Write(t, p.Work, "sub/.env", "COMPOSE_FILE=named.yaml\nV=of dotenv\n", 0o644)
	p.Write(t, p.Work, "env", "V=of env\n", 0o644)
	file("lines/compose.yaml", "FOUND")
	file("lines/other.yaml", "NOT_NAMED")
	p.Write(t, p.Work, "lines/.env", "NOTE=\"a\nCOMPOSE_FILE=other.yaml\nCOMPOSE_PATH_SEPARATOR=.\"\n", 0o644)
	tests := []struct {
		name, dir string
		args      []string
	}{
		{"found, and its override", "", nil},
		{"found above", "sub/deep", []string{"--project-directory", "../.."}},
		{"named", "", []string{"-f", "sub/named.yaml", "-fcompose.override.yaml"}},
		{"COMPOSE_FILE of .env", "sub", nil},
		{"a line of another value in .env", "lines", nil},
		{"an env file and a name", "", []string{"--env-file", "env", "-p", "other"}},
		{"a profile", "", []string{"--profile", "more", "config"}},
	}
	session := regexp.MustCompile(`io.hostexec.session: "?[0-9a-f]{12}`) // one that could be a number is quoted
	for _, tt := range tests {
		h := &Host{Home: p.Home, State: p.State, Work: filepath.Join(p.Work, tt.dir), Env: p.Env}
		words := tt.args
		if len(words) == 0 || words[len(words)-1] != "config" {
			words = append(words, "config")
		}
		plain := h.Must(t, append([]string{"compose"}, words...)...)
		ours := h.Must(t, append([]string{"hostexec", "compose", "--"}, words...)...)
		services := strings.Count(plain, "image: x")
		want(t, tt.name+": sessions", len(session.FindAllString(ours, -1)), services)
		want(t, tt.name+": PATH", strings.Count(ours, "PATH: /run/hostexec/bin:/a$$b\n"), 1)
		for line := range strings.Lines(plain) {
			if !strings.Contains(line, "PATH:") && !strings.Contains(ours, line) {
				t.Errorf("%s: %q is missing from\n%s", tt.name, line, ours)
			}
		}
	}
	want(t, "sessions", len(p.Sessions(t)), 0)
}

// TestIntegrationComposeMisused gets each mistake told, and nothing left.
//
// Attack 197.
func TestIntegrationComposeMisused(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose")
	p.Write(t, p.Work, "bad.yaml", "services:\n  web: {image: x, x-hostexec: {prox: make}}\n", 0o644)
	p.Write(t, p.Work, "mount.yaml", "services:\n  web: {image: x, volumes: ['.:/run/hostexec/bin'], x-hostexec: {proxy: hsh=/bin/sh}}\n", 0o644)
	p.Write(t, p.Work, "state.yaml", "services:\n  web: {image: \"${IMAGE}\", network_mode: none, volumes: ['"+p.State+":/s'], x-hostexec: {proxy: hsh=/bin/sh}}\n", 0o644)
	p.Write(t, p.Work, "volume.yaml", "services:\n  web: {image: \"${IMAGE}\", network_mode: none, volumes: ['kept:/s'], x-hostexec: {proxy: hsh=/bin/sh}}\n"+
		"volumes:\n  kept: {driver_opts: {type: none, o: bind, device: '"+p.State+"'}}\n", 0o644)
	for name, more := range map[string]string{
		"secret.yaml": "secrets: [s]}\nsecrets: {s: {file: '" + p.State + "/page.json'}}\n",
		"config.yaml": "configs: [c]}\nconfigs: {c: {file: '" + p.State + "/config.yaml'}}\n",
		"from.yaml":   "volumes_from: [other]}\n  other: {image: \"${IMAGE}\", volumes: ['" + p.State + ":/s']}\n",
		"lent.yaml":   "volumes_from: ['container:" + p.Name + "-lender']}\n",
	} {
		p.Write(t, p.Work, name, "services:\n  web: {image: \"${IMAGE}\", network_mode: none, x-hostexec: {proxy: hsh=/bin/sh}, "+more, 0o644)
	}
	p.Must(t, "create", "--label", runLabel, "--name", p.Name+"-lender", "-v", p.State+":/s", image(t, "busybox"), "true")
	t.Cleanup(func() { p.Docker(t, "rm", "-f", p.Name+"-lender") })
	p.Write(t, p.Work, "none.yaml", "services:\n  a: {image: x}\n  b: {image: x}\n", 0o644)
	tests := []struct {
		args string
		code int
		err  string
	}{
		{"-- -f bad.yaml up", 125, "hostexec: bad.yaml: service web: unknown key prox"},
		{"-- -f mount.yaml up", 125, "a mount at /run/hostexec/bin is in the way"},
		{"-- -f state.yaml up -d", 125, "covers hostexec's own state"},
		{"-- -f volume.yaml up -d", 125, "covers hostexec's own state"},
		{"-- -f secret.yaml up -d", 125, "covers hostexec's own state"},
		{"-- -f config.yaml up -d", 125, "covers hostexec's own state"},
		{"-- -f from.yaml up -d", 125, "covers hostexec's own state"},
		{"-- -f lent.yaml up -d", 125, "covers hostexec's own state"},
		{"-- -f none.yaml up", 125, "no service is chosen"},
		{"--proxy make -- -f none.yaml up", 125, "(there are a, b)"},
		{"--proxy make --service c -- -f none.yaml up", 125, `no such service: c`},
		{"--proxy no-such-command --service a -- -f none.yaml up", 125, "'no-such-command' not found"},
		{"--project-name x up", 125, "behind --"},
		{"-- -f - config", 125, "cannot be read from stdin"},
		{"-- --nonsense up", 125, "unknown flag: --nonsense"},
		{"--nonsense", 125, "unknown flag: --nonsense"},
		{"-- -f nowhere.yaml up", 1, "nowhere.yaml"},
		{"-- -f none.yaml ps --nonsense", 1, "unknown flag: --nonsense"},
	}
	for _, tt := range tests {
		r := p.Docker(t, append([]string{"hostexec", "compose"}, strings.Fields(tt.args)...)...)
		code := r.Code
		if tt.args == "--nonsense" {
			code = tt.code // docker's words for our flags, and our verbs' code
		}
		if code != tt.code || !strings.Contains(r.Err, tt.err) || strings.Contains(r.Err, "hostexec: hostexec:") {
			t.Errorf("compose %s: %v\nwant code %d, stderr with %q", tt.args, r, tt.code, tt.err)
		}
	}
	check(t, os.Remove(filepath.Join(p.Home, ".docker", "cli-plugins", "docker-compose")))
	r := p.Docker(t, "hostexec", "compose", "--", "ps")
	if r.Code != 125 || !strings.Contains(r.Err, "hostexec: docker compose is not installed") {
		t.Errorf("without compose: %v", r)
	}
	p.quiet(t, soon)
}

// TestIntegrationComposeProvider has plain docker compose begin and end the session.
//
// Attack 186.
func TestIntegrationComposeProvider(t *testing.T) {
	t.Parallel() // most of it is waiting
	p := project(t, "compose", "builder")
	compose := func(args ...string) string { return p.Must(t, p.args(false, "provider.yaml", args...)...) }
	t.Cleanup(func() { p.Docker(t, p.args(false, "provider.yaml", "down", "-t0")...) })
	// What containers can write is not the environment of what runs on this host.
	p.Write(t, p.Work, ".env", "GIT_SSH_COMMAND=planted\nDOCKER_CONFIG=/nonexistent/planted\nDOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND=planted\n", 0o644)
	compose("up", "-d")
	served := processes(p.State)
	want(t, "a watcher is there", len(served) > 0, true)
	for _, pid := range served {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || strings.Contains(string(env), "planted") {
			t.Errorf("the environment of %s, with what .env says: %q, %v", cmdline(pid), env, err)
		}
	}
	eventually(t, patience, "the first call has been answered", func() bool { return strings.Contains(compose("logs"), "hello, provided:") })
	first := p.id(t, "builder-1")
	compose("up", "-d")
	want(t, "the container after up again", p.id(t, "builder-1"), first)
	env := p.Must(t, "exec", p.Name+"-builder-1", "env")
	if !strings.Contains(env, "HOST_BIN=/run/hostexec/bin\n") || !strings.Contains(env, "HOST_DIR="+p.State+"/services/"+p.Name+"/builder\n") {
		t.Errorf("what the provider sets: %s", env)
	}
	compose("up", "-d", "--force-recreate")
	p.says(t, "builder-1", "recreated")
	p.Must(t, "rename", p.Name+"-builder-1", p.Name+"-renamed")
	eventually(t, patience, "calls go by the container's new name", func() bool {
		p.says(t, "renamed", "renamed")
		audit, err := os.ReadFile(filepath.Join(p.State, "audit.log"))
		return err == nil && strings.Contains(string(audit), p.Name+"-renamed")
	})
	p.Must(t, "rename", p.Name+"-renamed", p.Name+"-builder-1")
	eventually(t, patience, "and by its old one", func() bool {
		return p.Must(t, "hostexec", "status", "--format", "{{.Container}}") == p.Name+"-builder-1\n"
	})
	p.Must(t, "hostexec", "stop", p.Name+"-builder-1")
	want(t, "state", p.Must(t, "hostexec", "status", "--format", "{{.State}}"), "stopped\n")
	p.Must(t, "hostexec", "prune", "-f")
	compose("up", "-d")
	p.says(t, "builder-1", "served again")
	stopped, err := filepath.Glob(filepath.Join(p.State, "sessions", "*", "stopped"))
	check(t, err)
	want(t, "sessions that resume --all leaves", len(stopped), 0)
	// Its share is in containers of run, too.
	run := func(args ...string) Result {
		return p.Docker(t, p.args(false, "provider.yaml", append([]string{"run"}, args...)...)...)
	}
	if r := run("--rm", "-T", "builder", "make", "hello", "FROM=beside"); !strings.HasPrefix(r.Out, "hello, beside:") {
		t.Errorf("run beside the service: %v", r)
	}
	compose("kill")
	if r := run("--rm", "-T", "builder", "make", "hello", "FROM=alone"); !strings.HasPrefix(r.Out, "hello, alone:") {
		t.Errorf("run alone: %v", r)
	}
	compose("up", "-d")
	p.says(t, "builder-1", "up again")
	session := strings.TrimSpace(p.Must(t, "hostexec", "status", "-q"))
	bad := run("-d", "--volume", p.State+":/s", "builder", "sleep", "1000")
	eventually(t, patience, "the session of a container that reaches the state is refused", func() bool {
		return strings.Contains(p.Docker(t, "hostexec", "logs", session).Out, "covers hostexec's own state")
	})
	p.Must(t, "rm", "-f", strings.TrimSpace(bad.Out))
	compose("down", "-t0")
	p.quiet(t, soon)
	left, err := filepath.Glob(filepath.Join(p.State, "services", "*"))
	check(t, err)
	want(t, "links left", len(left), 0)

	p.Write(t, p.Work, "bad.yaml", "services:\n  host: {provider: {type: hostexec, options: {service: x, proxy: no-such-command}}}\n", 0o644)
	r := p.Docker(t, "compose", "-f", "bad.yaml", "up", "-d")
	if r.Code == 0 || !strings.Contains(r.Err, "hostexec: command 'no-such-command' not found in PATH") {
		t.Errorf("a provider's error: %v", r)
	}
	p.quiet(t, soon)
}
