// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"syscall"
	"testing"
)

// TestIntegrationRenamed renames a session's container under its watcher, and while it has
// none: everything goes by the new name, and calls go on.
func TestIntegrationRenamed(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	for _, how := range []string{"run", "attach"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			name := func(n string) string { return unique(h.Name + "-" + how + "-" + n) }
			c := h.named(t, how, name("one"))
			c.goesBy(t, name("one"), "first")

			h.Must(t, "rename", name("one"), name("two"))
			c.goesBy(t, name("two"), "renamed")
			h.Must(t, "restart", "-t", "0", c.ID)
			c.goesBy(t, name("two"), "restarted")

			h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
			h.Must(t, "rename", name("two"), name("three"))
			eventually(t, patience, "it is lost", func() bool {
				return h.status(t, c, "{{.Container}} {{.State}}") == name("three")+" lost"
			})
			want(t, "resume", h.Must(t, "hostexec", "resume", name("three")), c.Session+"\n")
			c.goesBy(t, name("three"), "resumed")
		})
	}
}

// named starts a container that has a name and a session, which run made or attach.
func (h *Host) named(t *testing.T, how, name string) *Container {
	t.Helper()
	if how == "run" {
		return h.Holding(t, "--network", "none", "--name", name, "--proxy", "hsh=/bin/sh")
	}
	c := h.startUnknown(t, "--network", "none", "--name", name)
	c.Session = h.Must(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", name)[:12]
	return c
}

// status renders what status says of a session.
func (h *Host) status(t testing.TB, c *Container, format string) string {
	t.Helper()
	return lineWith(h.Must(t, "hostexec", "ls", "-a", "--filter", "id="+c.Session, "--format", format), "")
}

// goesBy waits until the session has its container's name, and holds what else has it to that.
func (c *Container) goesBy(t testing.TB, name, when string) {
	t.Helper()
	eventually(t, patience, "status has "+name, func() bool {
		return c.Host.status(t, c, "{{.Container}} {{.State}}") == name+" running"
	})
	mark := name + "-" + when
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo "+mark).Out, mark+"\n")
	want(t, "records of it by that name", len(c.Host.Audit(t, " START ", " container="+name+" ", mark)), 1)
	want(t, "inspect by that name", c.Host.Must(t, "hostexec", "inspect", "-f", "{{.ID}} {{.ContainerName}}", name), c.Session+" "+name+"\n")
}
