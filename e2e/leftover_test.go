// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestIntegrationLeftover checks that the host lists and ends the processes that a call and a job
// have left.
func TestIntegrationLeftover(t *testing.T) {
	const script = `setsid sleep 1000 >/dev/null 2>&1 & echo $! $HOSTEXEC_REQUEST_ID`
	forEachUser(t, func(t *testing.T, c *Container) {
		id, _, _ := strings.Cut(c.Exec(t, "hostexec", "-d", "hsh", "-c", script).Out, " ")
		want(t, "wait", c.Exec(t, "hostexec", "wait", id).Code, 0)
		for _, out := range []string{c.Exec(t, "hostexec", "logs", id).Out, c.Exec(t, "hsh", "-c", script).Out} {
			pid, id, _ := strings.Cut(strings.TrimSpace(out), " ")
			p := hold(t, atoi(t, pid))
			shown := lineWith(c.Host.Must(t, "hostexec", "ps", "--format", "{{.ID}} {{.Kind}} {{.Status}} {{.PID}}", c.ID), pid)
			want(t, "docker hostexec ps", shown, id+" left running "+pid)
			want(t, "docker hostexec kill", c.Host.Must(t, "hostexec", "kill", id), id+"\n")
			want(t, "it is gone", p.Gone(0), true)
			want(t, "kill again", c.Host.Docker(t, "hostexec", "kill", id).Code, 1)
		}
	})
}
