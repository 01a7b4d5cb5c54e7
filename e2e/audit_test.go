// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"context"
	"strings"
	"testing"
)

// TestIntegrationAuditFollow shows calls as they happen, including those of another session.
func TestIntegrationAuditFollow(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			mark := unique("follow-" + h.Name)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := h.Command(ctx, "docker", "hostexec", "audit", "-f", "--tail", "0", "--filter", "command=hp", "--format", "{{.Event}} {{.Container}} {{.Command}}")
			out, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			defer func() { cancel(); cmd.Wait() }()
			c := h.Holding(t, "--proxy", "hp="+probePath(t))
			name := strings.TrimPrefix(c.Inspect(t, "{{.Name}}"), "/")
			begun, lines := make(chan struct{}), bufio.NewScanner(out)
			// ends with the first line that is followed, or with ctx.
			go func() { defer close(begun); lines.Scan() }()
			eventually(t, patience, "the log is followed", func() bool {
				c.Exec(t, "hp", "args", "before")
				select {
				case <-begun:
					return true
				default:
					return false
				}
			})
			c.Exec(t, "hp", "args", mark, "\x1b[2J")
			var got []string
			for len(got) < 3 && lines.Scan() {
				if strings.Contains(lines.Text(), mark) {
					got = append(got, lines.Text())
				}
			}
			for i, kind := range []string{"AUTO_APPROVE", "START", "COMPLETE"} {
				if line := kind + " " + name + ` "hp args ` + mark + ` '\x1b[2J'"`; i >= len(got) || got[i] != line {
					t.Errorf("followed is %q, want %s", got, line)
				}
			}
		})
	}
}

// TestIntegrationAuditComplete checks that the log of all calls so far is complete.
func TestIntegrationAuditComplete(t *testing.T) {
	for _, h := range dockerUsers(t) {
		c := h.Shared(t, "socket")
		c.Sh(t, "for i in 1 2 3 4 5 6 7 8; do hsh -c 'kill -9 $$' & hsh -c 'exit 3' & banned & done; wait")
		r := h.Docker(t, "hostexec", "audit", "verify")
		if r.Code != 0 || !strings.Contains(r.Out, "ok: ") {
			t.Errorf("%s: verify: %v", h.Name, r)
		}
	}
}
