// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestIntegrationAgentRules prints the rules for agents: when and how to call, questions to a
// person, and checks.
func TestIntegrationAgentRules(t *testing.T) {
	h := newHost(t, false)
	r := h.Docker(t, "hostexec", "agent-rules")
	for _, heading := range []string{"\n## When to use it\n", "\n## Patterns\n", "\n## When approval is needed\n", "\n## How to check\n"} {
		if !strings.Contains(r.Out, heading) {
			t.Errorf("there is no heading %q", heading)
		}
	}
	want(t, "the code", r.Code, 0)
	want(t, "links to other pages", strings.Contains(r.Out, "]("), false)
	want(t, "the code without such a session", h.Docker(t, "hostexec", "agent-rules", "x").Code, 1)
	want(t, "the code with two arguments", h.Docker(t, "hostexec", "agent-rules", "x", "y").Code, 1)
}

// TestIntegrationAgentsFile reads what a container says about the policy, over each carrier and as several users, before
// and after a change of the policy. The host prints the same.
func TestIntegrationAgentsFile(t *testing.T) {
	t.Parallel()
	for carrier := range carriers {
		t.Run(carrier, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, false)
			h.mkdir(t, h.Work+"/sub")
			c := carriers[carrier](t, h, append(proxies(t), "--proxy", "banned=deny")...)
			file := func(user string) string { return c.shims().As(user).Exec(t, "cat", "/run/hostexec/AGENTS.md").Out }
			if carrier == "attach" { // the container has copies, which do not change
				file = func(user string) string { return c.As(user).Exec(t, "hostexec", "ls", "--agents").Out }
			}
			before := file("0")
			for _, text := range []string{"\n    hsh (anything)\n", "\nRefused:\n\n    banned (anything)\n", "\n## How to ask well\n"} {
				if !strings.Contains(before, text) {
					t.Errorf("%q is not in:\n%s", text, before)
				}
			}
			h.Must(t, "hostexec", "policy", "add", "--ask", "--", "uname", "-a")
			eventually(t, 10*time.Second, "the file has the new rule", func() bool {
				return strings.Contains(file("0"), "\nWaits for a person:\n\n    hostexec uname -a\n")
			})
			now := file("4242")
			want(t, "of another user", now, file("0"))
			want(t, "of the host", h.Must(t, "hostexec", "agent-rules", c.Session), now)
			if carrier == "http" {
				want(t, "over HTTP", c.Exec(t, "/probe", "http", "hostexec", "ls", "--agents").Out, now)
			}
			want(t, "hostexec ls --agents", c.shims().Exec(t, "hostexec", "ls", "--agents").Out, now)
		})
	}
}
