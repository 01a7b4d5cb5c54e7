// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// Container is a session's container, and the user in it that its commands run as.
type Container struct {
	Host    *Host
	ID      string
	Session string
	User    string
	Carrier string // that was asked for, where that matters
	Path    string // where programs look for commands, if not where the container's do
}

// Detached starts a container with `docker hostexec run -d` and the given flags, image
// and command. It is removed at the end of the test.
func (h *Host) Detached(t testing.TB, args ...string) *Container {
	t.Helper()
	c := h.detached(t, args...)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", c.ID) })
	return c
}

func (h *Host) detached(t testing.TB, args ...string) *Container {
	t.Helper()
	r := h.Run(t, append([]string{"-d"}, args...)...)
	if r.Code != 0 {
		t.Fatalf("docker hostexec run -d %q: %v", args, r)
	}
	c := &Container{Host: h, ID: strings.TrimSpace(r.Out), User: "0"}
	c.Session = c.Inspect(t, `{{index .Config.Labels "io.hostexec.session"}}`)
	return c
}

// Holding starts a container of the full image that does nothing but be there, with
// flags before the image's name. Work is mounted at /w, and its working directory.
func (h *Host) Holding(t testing.TB, flags ...string) *Container {
	t.Helper()
	return h.Detached(t, h.holding(t, flags)...)
}

func (h *Host) holding(t testing.TB, flags []string) []string {
	t.Helper()
	args := append([]string{"-v", h.Work + ":/w", "-w", "/w"}, flags...)
	return append(args, image(t, "full"), "/probe", "hold")
}

// Inspect renders a template of docker inspect.
func (c *Container) Inspect(t testing.TB, format string) string {
	t.Helper()
	return strings.TrimSpace(c.Host.Must(t, "inspect", "--format", format, c.ID))
}

// PID is the container's first process, as the host numbers it.
func (c *Container) PID(t testing.TB) int {
	t.Helper()
	pid, err := strconv.Atoi(c.Inspect(t, "{{.State.Pid}}"))
	check(t, err)
	return pid
}

// As returns the same container with another user to run commands as.
func (c *Container) As(user string) *Container {
	as := *c
	as.User = user
	return &as
}

func (c *Container) execArgs(flags []string, args ...string) []string {
	all := append([]string{"exec", "-u", c.User}, flags...)
	if c.Path != "" {
		all = append(all, "-e", "PATH="+c.Path)
	}
	return append(append(all, c.ID), args...)
}

// Exec runs a program of the container to its end, with stdin from nowhere.
func (c *Container) Exec(t testing.TB, args ...string) Result {
	t.Helper()
	return c.Host.Docker(t, c.execArgs(nil, args...)...)
}

// Feed is Exec with bytes on stdin.
func (c *Container) Feed(t testing.TB, stdin string, args ...string) Result {
	t.Helper()
	return c.Host.feed(t, stdin, "docker", c.execArgs([]string{"-i"}, args...)...)
}

// Sh runs a bash script in the container; args are its $1 and so on.
func (c *Container) Sh(t testing.TB, script string, args ...string) Result {
	t.Helper()
	return c.Exec(t, append([]string{"bash", "-c", script, "bash"}, args...)...)
}

// Long is Sh for what has much to do, on a machine that has other things to do.
func (c *Container) Long(t testing.TB, script string, args ...string) Result {
	t.Helper()
	argv := append([]string{"bash", "-c", script, "bash"}, args...)
	return c.Host.feedFor(t, 4*patience, "", "docker", c.execArgs(nil, argv...)...)
}

// ExecJSON runs a program that prints JSON, and parses that into v.
func (c *Container) ExecJSON(t testing.TB, v any, args ...string) {
	t.Helper()
	r := c.Exec(t, args...)
	if r.Code != 0 {
		t.Fatalf("%q: %v", args, r)
	}
	if err := json.Unmarshal([]byte(r.Out), v); err != nil {
		t.Fatalf("%q: %v: %v", args, err, r)
	}
}
