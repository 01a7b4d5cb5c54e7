// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationAgentExample builds examples/agent from a base that needs no registry, and runs it
// by its own agent.yaml in both modes.
func TestIntegrationAgentExample(t *testing.T) {
	example, err := filepath.Abs("../examples/agent")
	check(t, err)
	config := filepath.Join(example, "agent.yaml")
	ref := unique("example") + ":latest"
	for _, shared := range dockerUsers(t)[:1] { // who it is does not matter, and builds take long
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			h.Env = []string{"DOCKER_BUILDKIT=0", "ANTHROPIC_API_KEY=of nobody"}
			t.Cleanup(func() { h.Docker(t, "rmi", "-f", ref) })
			build := h.feed(t, string(pack(t, example, "Dockerfile")), "docker", "build", "--network", "none", "--label", runLabel,
				"--build-arg", "BASE="+image(t, "node"), "-t", ref, "-")
			if build.Code != 0 {
				t.Fatalf("docker build: %v", build)
			}
			args := []string{"hostexec", "agent", "--config", config, "--mode", "container", "--image", ref, "--label", runLabel, "--network", "none", "--proxy", "hsh=/bin/sh"}
			a := h.Agent(t, args...)
			want(t, "answer", a.ask(t, "run", `["sh","-c","pwd; wc -l </installed; echo made >here"]`), answered(`"/workspace\n3\n(0)"`))
			want(t, "where it keeps its work", string(readFile(t, filepath.Join(h.Home, "agents", h.session(t), "here"))), "made\n")
			want(t, "a call", a.ask(t, "run", `["hsh","-c","echo called"]`), answered(`"called\n(0)"`))
			r := a.Wait(t)
			want(t, "code", r.Code, 0)
			want(t, "what runs", r.Err, "/usr/bin/npx @zed-industries/claude-code-acp\n")
			h.agentless(t)

			bin := filepath.Join(h.Home, "bin")
			h.mkdir(t, bin)
			h.Write(t, bin, "npx", "#!/bin/sh\necho $0 $* >&2; exec "+probePath(t)+" agent\n", 0o755)
			h.Env = append(h.Env, "PATH="+bin+":/usr/bin:/bin")
			a = h.Agent(t, "hostexec", "agent", "--config", config, "--proxy", "hsh=/bin/sh")
			want(t, "a call of a process", a.ask(t, "run", `["hsh","-c","echo called"]`), answered(`"called\n(0)"`))
			r = a.Wait(t)
			want(t, "code of a process", r.Code, 0)
			want(t, "what runs as a process", strings.TrimPrefix(r.Err, bin), "/npx @zed-industries/claude-code-acp\n")
			h.agentless(t)
		})
	}
}

// pack writes the archive of one file in dir that docker build reads.
func pack(t testing.TB, dir, name string) []byte {
	t.Helper()
	fs := &rootfs{files: map[string]file{}}
	fs.text("/"+name, string(readFile(t, filepath.Join(dir, name))))
	return fs.pack(t)
}
