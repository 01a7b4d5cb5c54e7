// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestIntegrationShellContainers creates shells in containers of all kinds.
func TestIntegrationShellContainers(t *testing.T) {
	needBash(t)
	tests := map[string]struct {
		image string
		flags []string
		out   string
		err   string // a part of stderr, where it cannot be
	}{
		"as root":           {image: "full", out: "0 / \n"},
		"as somebody":       {image: "full", flags: []string{"--user", "1234:5678"}, out: "1234 / \n"},
		"with a directory":  {image: "full", flags: []string{"--workdir", "/etc", "-e", "E=its own"}, out: "0 /etc its own\n"},
		"read-only":         {image: "full", flags: []string{"--read-only"}, out: "0 / \n"},
		"without any right": {image: "full", flags: []string{"--read-only", "--user", "99", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}, out: "99 / \n"},
		"read-only, no shm": {image: "full", flags: []string{"--read-only", "--ipc", "none"}, err: "none of $TMPDIR, /tmp, /var/tmp and /dev/shm can be written to"},
		"without bash":      {image: "busybox", err: "it has no bash, and shells with state are bash: install it in the image"},
		"without anything":  {image: "empty", err: "it has no bash"},
	}
	all := dockerUsers(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := all[len(name)%len(all)]
			target := h.target(t, tt.image, tt.flags, "/probe", "hold")
			if tt.image == "empty" {
				h.Docker(t, "rm", "-f", target)
				target = h.target(t, tt.image, tt.flags, "hold")
			}
			g := shellBackend{h.Holding(t, "--proxy-shell=allow,in="+target), target}.make(t)
			r := g.x(t, `x 'echo $(id -u) $PWD $E; exit_() { return 4; }; exit_'`)
			code := 4
			if tt.err != "" {
				code = 125
			}
			if out := strings.ReplaceAll(tt.out, " \n", "\n"); r.Out != out || r.Code != code || !strings.Contains(r.Err, tt.err) || tt.err == "" && r.Err != "" {
				t.Errorf("%v\nwant code %d, stdout %q, stderr with %q", r, code, out, tt.err)
			}
		})
	}
}

// TestIntegrationShellReach asks for shells in other containers. The container gets only those that
// are named, and does not learn which others exist.
func TestIntegrationShellReach(t *testing.T) {
	needBash(t)
	h := dockerUsers(t)[0]
	named, other := h.target(t, "full", nil, "/probe", "hold"), unique("no-such")
	id := strings.TrimSpace(h.Must(t, "inspect", "--format", "{{.Id}}", named))
	c := h.Holding(t, "--proxy-shell")
	for _, in := range []string{named, other, id, id[:12], c.ID} {
		r := c.Exec(t, "hostexec", "session", "create", "--in", in, "s")
		if r.Code != 126 || !strings.Contains(r.Err, "shells in container "+in+" are not allowed") {
			t.Errorf("--in %s without a word of the host's: %v", in, r)
		}
	}
	for _, in := range []string{"", "-x", "../x", "a b", "a/b", strings.Repeat("a", 300)} {
		if r := c.Exec(t, "hostexec", "session", "create", "--in", in, "s"); r.Code != 125 || strings.Count(r.Err, "\n") != 1 {
			t.Errorf("--in %q: %v", in, r)
		}
	}
	c = h.Holding(t, "--proxy-shell=allow,in="+id[:12]+",in="+other+",in="+named)
	for in, says := range map[string]string{id[:12]: "there is no container", other: "there is no container"} {
		if r := c.Exec(t, "hostexec", "session", "create", "--in", in, "s"); r.Code != 125 || !strings.Contains(r.Err, says) {
			t.Errorf("--in %s, which is no name: %v", in, r)
		}
	}
	g := shellBackend{c, named}.make(t)
	want(t, "a command", g.x(t, `x 'X=1'`).Code, 0)
	want(t, "audit", len(h.Audit(t, " START ", "shell --in "+named)), 1)
	h.Must(t, "rm", "-f", named)
	eventually(t, soon, "it is known to be dead", func() bool { return strings.Contains(h.Must(t, "hostexec", "shell", "ls", c.ID), " - ") })
	h.Must(t, "run", "-d", "--label", runLabel, "--name", named, image(t, "full"), "/probe", "hold")
	if r := g.x(t, `x 'echo in another'`); r.Code != 125 || r.Out != "" || !strings.Contains(r.Err, "container "+named+" does not run") {
		t.Errorf("a container of the same name: %v", r)
	}
}

// TestIntegrationShellReachByRule checks rules that name the container of a shell.
func TestIntegrationShellReachByRule(t *testing.T) {
	needBash(t)
	h := newHost(t, false)
	named := h.target(t, "full", nil, "/probe", "hold")
	h.Write(t, h.State, "config.yaml", `version: 1
approval: {auto_approve: ['.*']}
commands:
  shell:
    rules:
      - {id: here, do: allow, accept: host-code-execution, anywhere: true, argv: [{args: '.*'}]}
      - {id: there, do: allow, accept: host-code-execution, argv: ['--in', `+named+`, 'echo ruled']}
`, 0o600)
	g := shellBackend{h.Holding(t, "--proxy", "true"), named}.make(t)
	want(t, "what the rule says", g.x(t, `x 'echo ruled'`).Out, "ruled\n")
	want(t, "anything else", g.x(t, `x 'echo other'`).Code, 126)
	want(t, "with a variable", g.x(t, `x 'echo ruled' --env A=1`).Code, 126)
	want(t, "in the background", g.x(t, `hostexec session start s -- 'echo other'`).Code, 126)
	want(t, "on the host", g.x(t, `hostexec session create h; hostexec session exec h -- 'echo here'`).Out, "here\n")
	want(t, "in another", g.Exec(t, "hostexec", "session", "create", "--in", "another", "a").Code, 126)
}
