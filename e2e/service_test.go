// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationService installs the service and runs its command by hand. It restores sessions
// whose watcher was killed, also if the container was down at that time, and leaves sessions alone
// that the user has stopped.
func TestIntegrationService(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	conf := filepath.Join(h.Home, `con "fig" 100% $HOME`)
	h.mkdir(t, conf)
	h.Env = append(h.Env, "XDG_CONFIG_HOME="+conf, "DOCKER_HOST=unix:///var/run/docker.sock")
	unit := filepath.Join(conf, "systemd", "user", "docker-hostexec.service")
	for range 2 {
		want(t, "install", h.Must(t, "hostexec", "service", "install"), unit+"\n")
	}
	s := readUnit(t, unit)
	verifyUnit(t, unit)
	link, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(unit), "default.target.wants", "docker-hostexec.service"))
	check(t, err)
	want(t, "what starts at login", link, unit)
	want(t, "its state", s.env["HOSTEXEC_HOME"]+" "+s.env["DOCKER_CONFIG"], h.State+" "+filepath.Join(h.Home, ".docker"))
	want(t, "its engine", strings.Contains(strings.Join(s.argv, " "), " --host unix:///var/run/docker.sock hostexec resume "), true)

	agent := h.Must(t, "--context", "default", "hostexec", "service", "install", "--print", "--manager", "launchd")
	want(t, "by a context", strings.Contains(agent, "<string>--context</string>\n\t\t<string>default</string>\n\t\t<string>hostexec</string>"), true)
	_, err = os.Lstat(filepath.Join(h.Home, "Library"))
	want(t, "--print writes nothing", os.IsNotExist(err), true)

	lost, attached := h.Holding(t, "--network", "none", "--proxy", "hsh=/bin/sh"), h.named(t, "attach", unique("service-"+h.Name))
	down, stopped := h.Holding(t, "--network", "none", "--proxy", "hsh=/bin/sh"), h.Holding(t, "--network", "none", "--proxy", "hsh=/bin/sh")
	for _, c := range []*Container{lost, attached, down} {
		h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
	}
	h.Must(t, "stop", "-t", "0", down.ID)
	h.Must(t, "hostexec", "stop", stopped.Session)

	end := s.run(t, h)
	for _, c := range []*Container{lost, attached, down} {
		if c == down {
			h.Must(t, "start", down.ID)
		}
		eventually(t, patience, "calls are answered again", func() bool { return c.Exec(t, "hsh", "-c", "echo called").Out == "called\n" })
	}
	want(t, "what was stopped", h.status(t, stopped, "{{.State}}"), "stopped")
	out := end()
	for _, c := range []*Container{lost, attached, down} {
		want(t, "it says what it resumed", lineWith(out, c.Session), c.Session)
		want(t, "after its end", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	}
	h.Must(t, "hostexec", "resume", stopped.Session)
	h.Watcher(t, stopped.Session).Signal(t, syscall.SIGKILL)
	eventually(t, patience, "resumed by a person, it is as any other", func() bool {
		r := h.Docker(t, "hostexec", "resume", "--all")
		return r.Code == 0 && strings.Contains(r.Out, stopped.Session)
	})

	want(t, "uninstall", h.Must(t, "hostexec", "service", "uninstall"), unit+"\n")
	again := h.Docker(t, "hostexec", "service", "uninstall")
	want(t, "uninstall twice", again.String(), Result{"", "hostexec: it is not installed: there is no " + unit + "\n", 0}.String())
	left, err := filepath.Glob(filepath.Join(conf, "systemd", "user", "*", "*"))
	check(t, err)
	want(t, "files left", len(left), 0)
	h.Write(t, filepath.Dir(unit), "docker-hostexec.service", "[Service]\nExecStart=/bin/true\n", 0o644)
	r := h.Docker(t, "hostexec", "service", "install")
	want(t, "over somebody's own", r.Code, 1)
	want(t, "over somebody's own", strings.Contains(r.Err, "was not written by docker hostexec service install, so it is not changed"), true)
}

// unit is what a test reads in the file of a systemd service.
type unit struct {
	argv []string
	env  map[string]string
}

// readUnit reads a unit as systemd.syntax(7) has it, strictly: a line that is anything else
// fails the test.
func readUnit(t *testing.T, file string) unit {
	t.Helper()
	u := unit{env: map[string]string{}}
	section := ""
	for line := range strings.Lines(string(readFile(t, file))) {
		line = strings.TrimSuffix(line, "\n")
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = line
		case !ok || section == "":
			t.Fatalf("%s: not a line of a unit: %q", file, line)
		case section == "[Service]" && key == "ExecStart":
			u.argv = unitWords(t, value, "%$")
		case section == "[Service]" && key == "Environment":
			name, v, _ := strings.Cut(unitWords(t, value, "%")[0], "=")
			u.env[name] = v
		}
	}
	if len(u.argv) == 0 {
		t.Fatalf("%s has no ExecStart", file)
	}
	return u
}

// unitWords splits a line of quoted words. Characters in doubled must appear twice and stand for
// one.
func unitWords(t *testing.T, line, doubled string) (words []string) {
	t.Helper()
	for line != "" {
		word := ""
		if line[0] != '"' {
			t.Fatalf("not quoted: %q", line)
		}
		i := 1
		for ; i < len(line) && line[i] != '"'; i++ {
			switch {
			case line[i] == '\\', strings.IndexByte(doubled, line[i]) >= 0:
				if i+1 == len(line) || line[i] != '\\' && line[i+1] != line[i] {
					t.Fatalf("%q stands alone in %q", line[i], line)
				}
				i++
			}
			word += line[i : i+1]
		}
		if i >= len(line) {
			t.Fatalf("no end of a word: %q", line)
		}
		words = append(words, word)
		line = strings.TrimPrefix(line[i+1:], " ")
	}
	return words
}

// verifyUnit checks the file by systemd-analyze where it is installed.
func verifyUnit(t *testing.T, file string) {
	t.Helper()
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: the test's own reading has to do")
		return
	}
	cmd := exec.Command(verify, "verify", "--user", "--man=no", file)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "docker-hostexec.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// run starts what the unit starts, as systemd would: with nothing in its environment but
// what the unit says, and who it is for. The returned function ends it and returns its output.
func (u unit) run(t *testing.T, h *Host) (end func() string) {
	t.Helper()
	cmd := h.Command(context.Background(), u.argv[0], u.argv[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"HOME=" + h.Home}
	for name, value := range u.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	check(t, cmd.Start())
	end = func() string {
		check(t, cmd.Process.Signal(syscall.SIGTERM))
		waitOr(t, cmd.Wait)
		if code := exitCode(cmd.ProcessState); code != 0 {
			t.Errorf("it ended with %d: %s", code, errs.String())
		}
		return out.String()
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			end()
		}
	})
	return end
}
