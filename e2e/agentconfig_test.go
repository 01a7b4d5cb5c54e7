// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// oldConfig is a file of a program that runs agents itself, as it stands, with what only
// that program knows.
const oldConfig = `server:
  port: 8080
agent:
  mode: "MODE"
  command: "/bin/sh"
  args: ["-c", "echo $KEY-$Mixed_Case-$PLAIN-$COST-$DEFAULT-$NONE; pwd"]
  timeout: 5
  env:
    KEY: "${HOST_SECRET}"
    Mixed_Case: "yes"
    PLAIN: "$HOME"
    COST: "5$$"
    DEFAULT: "${UNSET_HERE:-fallback}"
    NONE: "${UNSET_HERE}"
  container:
    image: "IMAGE"
    memory_limit: "64m"
    cpu_limit: 0.5
    auto_remove: AUTO
    future: 1
`

func (h *Host) agentFile(t testing.TB, mode, auto string) string {
	t.Helper()
	text := strings.NewReplacer("MODE", mode, "IMAGE", image(t, "busybox"), "AUTO", auto).Replace(oldConfig)
	return h.Write(t, h.Work, mode+".yaml", text, 0o644)
}

// TestIntegrationAgentConfig runs one file in both modes: one key is all that differs, and keys
// of others are passed over, with a warning each.
func TestIntegrationAgentConfig(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		args := []string{"hostexec", "agent", "--config", h.agentFile(t, mode, "true")}
		if mode == "container" {
			args = append(args, "--label", runLabel, "--network", "none")
		}
		r := h.Docker(t, args...)
		cwd := map[string]string{"process": h.Work, "container": "/workspace"}[mode]
		want(t, "stdout", r.Out, "of the host-yes-$HOME-5$-fallback-\n"+cwd+"\n")
		want(t, "code", r.Code, 0)
		for _, key := range []string{"key server", "key timeout", "key future", "UNSET_HERE"} {
			want(t, "warnings of "+key, strings.Count(r.Err, key), 1)
		}
		want(t, "lines of stderr", strings.Count(r.Err, "\n"), 4)
		want(t, "the value is in no log", strings.Contains(r.Err, "of the host"), false)
		for _, line := range h.Audit(t) {
			want(t, "the value is in the audit log", strings.Contains(line, "of the host"), false)
		}
	})
}

// TestIntegrationAgentLimits checks the container that results from a configuration and from flags
// that override it.
func TestIntegrationAgentLimits(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			h.mkdir(t, filepath.Join(h.Work, "data"))
			args := append([]string{"hostexec", "agent", "--config", h.agentFile(t, "container", "true"), "--label", runLabel, "-m", "128m", "--network", "none", "-v", "./data:/mnt"}, echo(t, "container")...)
			a := h.Agent(t, args...)
			want(t, "answer", a.ask(t, "say", `1`), answered(`1`))
			id := h.agents(t)
			for format, is := range map[string]string{
				"{{.HostConfig.Memory}}": "134217728", "{{.HostConfig.NanoCpus}}": "500000000", "{{.HostConfig.NetworkMode}}": "none",
				"{{.HostConfig.AutoRemove}}": "false", "{{.Config.Tty}}": "false", "{{.Config.WorkingDir}}": "/workspace", "{{.HostConfig.Binds}}": "[" + filepath.Join(h.Work, "data") + ":/mnt]",
			} {
				want(t, format, strings.TrimSpace(h.Must(t, "inspect", "--format", format, id)), is)
			}
			want(t, "code", a.Wait(t).Code, 0)
			h.agentless(t)
		})
	}
}

// TestIntegrationAgentKept checks that auto_remove: false keeps the ended container.
func TestIntegrationAgentKept(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			r := h.Docker(t, "hostexec", "agent", "--config", h.agentFile(t, "container", "false"), "--label", runLabel, "--network", "none")
			want(t, "code", r.Code, 0)
			id := h.agents(t)
			want(t, "its log", h.Must(t, "logs", id), r.Out)
			eventually(t, patience, "no process is left", func() bool { return len(processes(h.State)) == 0 })
			want(t, "status", h.Must(t, "hostexec", "status", "-a", "--format", "{{.State}}"), "exited\n")
			h.Must(t, "rm", id)
			h.Must(t, "hostexec", "prune", "-f")
			h.agentless(t)
		})
	}
}

// TestIntegrationAgentWithoutDocker runs a process agent without an engine, and with invalid
// settings for a container.
func TestIntegrationAgentWithoutDocker(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			h.Env = []string{"DOCKER_HOST=unix:///nonexistent/docker.sock"}
			file := h.Write(t, h.Work, "a.yaml", "agent: {command: cat, container: {memory_limit: lots, cpu_limit: [1], startup_timeout_seconds: never}}\n", 0o644)
			want(t, "unset mode", h.feed(t, "in\n", "docker", "hostexec", "agent", "--config", file), Result{Out: "in\n"})
			r := h.feed(t, `{"jsonrpc":"2.0","id":1,"method":"run","params":["hsh","-c","echo called"]}`+"\n", "docker",
				append([]string{"hostexec", "agent", "--proxy", "hsh=/bin/sh"}, echo(t, "process")...)...)
			want(t, "a call", r.Out, answered(`"called\n(0)"`)+"\n")
			r = h.Docker(t, "hostexec", "agent", "--config", file, "--mode", "container", "--image", "x")
			want(t, "container mode looks at it", r.Code == 125 && strings.Contains(r.Err, "agent.container."), true)
			h.quiet(t, patience)
		})
	}
}

// TestIntegrationAgentEngine checks the precedence of the settings that name an engine.
func TestIntegrationAgentEngine(t *testing.T) {
	const no, yes = "unix:///nonexistent/docker.sock", "unix:///var/run/docker.sock"
	for _, shared := range dockerUsers(t) {
		for _, tt := range []struct {
			name, flag, env, file string
			code                  int
		}{
			{"the file", "", "", yes, 0},
			{"the file, wrong", "", "", no, 125},
			{"the environment before it", "", yes, no, 0},
			{"a flag before that", yes, no, no, 0},
			{"a flag, wrong", no, yes, yes, 125},
		} {
			t.Run(shared.Name+"/"+tt.name, func(t *testing.T) {
				h := newHost(t, shared.cred != nil)
				file := h.Write(t, h.Work, "a.yaml", "agent: {container: {docker_host: '"+tt.file+"'}}\n", 0o644)
				var args []string
				if tt.flag != "" {
					args = []string{"--host", tt.flag}
				}
				if tt.env != "" {
					h.Env = []string{"DOCKER_HOST=" + tt.env}
				}
				args = append(args, agentArgs(t, "container", "busybox", "--config", file, "--", "true")...)
				want(t, "code", h.Docker(t, args...).Code, tt.code)
			})
		}
	}
}

// TestIntegrationAgentMisused checks the errors of wrong flags and wrong configuration.
func TestIntegrationAgentMisused(t *testing.T) {
	h := dockerUsers(t)[0]
	file := h.Write(t, h.Work, "broken.yaml", "agent: {mode: foo}\n", 0o644)
	twice := h.Write(t, h.Work, "twice.yaml", "agent: {mode: process, mode: container}\n", 0o644)
	for _, tt := range []struct {
		text string
		args []string
	}{
		{"invalid agent.mode: foo (must be 'process' or 'container')", []string{"--config", file}},
		{"invalid agent.mode: bar (must be 'process' or 'container')", []string{"--mode", "bar"}},
		{"duplicate key mode", []string{"--config", twice}},
		{"file does not exist", []string{"--config", filepath.Join(h.Work, "none.yaml")}},
		{"no agent: agent.command is not set", nil},
		{"agent.container.image is required in container mode", []string{"--mode", "container"}},
		{"--memory is for an agent in a container", []string{"-m", "64m", "--", "cat"}},
		{"command 'nosuch' not found in PATH", []string{"--proxy", "nosuch", "--", "cat"}},
	} {
		r := h.Docker(t, append([]string{"hostexec", "agent"}, tt.args...)...)
		if r.Code != 125 || r.Out != "" || !strings.HasPrefix(r.Err, "hostexec: ") || !strings.Contains(r.Err, tt.text) {
			t.Errorf("%q: %v\nwant %q", tt.args, r, tt.text)
		}
	}
	for _, args := range [][]string{{"--memory", "bogus", "--json"}, {"--json", "--memory", "bogus"}} {
		want(t, "a wrong flag, as JSON", h.Docker(t, append([]string{"hostexec", "agent"}, args...)...), Result{Code: 125,
			Err: `{"type":"invalid_config","message":"invalid argument \"bogus\" for \"-m, --memory\" flag: invalid size: 'bogus'","cause":""}` + "\n"})
	}
}

// TestIntegrationAgentTerminal gives a container a terminal. The agent reports that its two outputs
// are one.
func TestIntegrationAgentTerminal(t *testing.T) {
	h := dockerUsers(t)[0]
	r := h.Docker(t, agentArgs(t, "container", "busybox", "-t", "--", "sh", "-c", "echo out; echo err >&2; test -t 1")...)
	want(t, "stdout", r.Out, "out\r\nerr\r\n")
	want(t, "a warning", strings.Contains(r.Err, "merged"), true)
	r = h.Docker(t, agentArgs(t, "container", "busybox", "--debug", "--", "true")...)
	for _, word := range []string{" created from ", "attached to ", " started\n", " exited with code 0\n"} {
		want(t, "--debug says"+word, strings.Count(r.Err, word), 1)
	}
}
