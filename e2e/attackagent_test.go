// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationAttackAgentConfig gives the container of an agent the file that --config names. What it
// wrote there, the next start would run on the host.
//
// Attack 221.
func TestIntegrationAttackAgentConfig(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			const text = "agent: {mode: container, command: sh, args: [-c, 'echo \"agent: {mode: process, command: evil}\" >agent.yaml; ls']}\n"
			h.mkdir(t, filepath.Join(h.Home, "elsewhere"))
			file, other := h.Write(t, h.Work, "agent.yaml", text, 0o666), h.Write(t, filepath.Join(h.Home, "elsewhere"), "agent.yaml", text, 0o666)
			link := filepath.Join(h.Home, "elsewhere", "link.yaml")
			check(t, os.Symlink(file, link))
			base := []string{"hostexec", "agent", "--image", image(t, "busybox"), "--label", runLabel, "--network", "none"}
			for name, args := range map[string][]string{
				"in the workspace":        {"--config", "agent.yaml", "--workspace=."},
				"by a volume":             {"--config", file, "-v", h.Work + ":/mnt"},
				"by a mount of the file":  {"--config", file, "--mount", "type=bind,source=" + file + ",target=/agent.yaml"},
				"by a link that leads in": {"--config", link, "--workspace=" + h.Work},
			} {
				r := h.Docker(t, append(append([]string{}, base...), args...)...)
				if r.Code != 125 || !strings.Contains(r.Err, "says what agent runs") {
					t.Errorf("%s: %+v, want a refusal", name, r)
				}
				want(t, name+": the file", string(readFile(t, file)), text)
			}
			for _, args := range [][]string{{"--config", file, "-v", h.Work + ":/mnt:ro"}, {"--config", other, "--workspace=."}} {
				r := h.Docker(t, append(append([]string{}, base...), args...)...)
				want(t, "code of "+args[1], r.Code, 0)
			}
			c := h.Holding(t)
			r := h.Docker(t, append(append([]string{}, base...), "--config", file)...)
			if r.Code != 125 || !strings.Contains(r.Err, "can change "+file) || !strings.Contains(r.Err, "docker hostexec prune") {
				t.Errorf("a file that another session's container can write: %+v, want a refusal", r)
			}
			r = h.Docker(t, append(append([]string{}, base...), "--config", other)...)
			want(t, "code of one that it cannot", r.Code, 0)
			h.Must(t, "rm", "-f", c.ID)
			want(t, "the file elsewhere", string(readFile(t, other)), text)
			h.agentless(t)
		})
	}
}
