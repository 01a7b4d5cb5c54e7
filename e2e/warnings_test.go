// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// warned is what inspect says that makes a session dangerous, and what status does of it.
func (c *Container) warned(t testing.TB) (all, short string) {
	t.Helper()
	var list []struct{ Warnings []string }
	check(t, json.Unmarshal([]byte(c.Host.Must(t, "hostexec", "inspect", c.Session)), &list))
	for line := range strings.Lines(c.Host.Must(t, "hostexec", "status", "-a", "--format", "{{.ID}} {{.Warned}}")) {
		if rest, ok := strings.CutPrefix(line, c.Session+" "); ok {
			short = strings.TrimSpace(rest)
		}
	}
	return strings.Join(list[0].Warnings, "\n"), short
}

// TestIntegrationWarnings starts sessions without a reader of stderr. status and inspect show their
// warnings, with a watcher and without, and check again when the container is restarted.
//
// Attack 120.
func TestIntegrationWarnings(t *testing.T) {
	h := newHost(t, false)
	code := "HOST CODE EXECUTION: make runs code from " + h.Work + ", which the container can write"
	link := filepath.Join(h.Work, "link")
	check(t, os.Mkdir(filepath.Join(h.Work, "plain"), 0o755))
	check(t, os.Symlink("plain", link))
	r := h.Docker(t, "hostexec", "run", "-d", "--label", runLabel, "-v", h.Work+":/w", "-v", link+":/l:ro", "--ipc", "host", "--proxy", "make=/bin/true", image(t, "full"), "/probe", "hold")
	want(t, "run: "+r.Err, r.Code, 0)
	want(t, "run's stderr", r.Err, "")
	c := &Container{Host: h, ID: strings.TrimSpace(r.Out), User: "0"}
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", c.ID) })
	c.Session = strings.TrimSpace(h.Must(t, "hostexec", "status", "-q"))
	ipc := "the container shares the memory of the host's processes (--ipc host): it can change what those of its own uid share"
	says := func(when, wanted string) {
		t.Helper()
		all, short := c.warned(t)
		want(t, when+": inspect", all, wanted)
		want(t, when+": status", short, itoa(strings.Count(wanted, "\n")+1))
	}
	says("begun", ipc+"\n"+code)

	check(t, os.Remove(link))
	check(t, os.Symlink("/run", link))
	h.Must(t, "restart", "-t", "0", c.ID)
	socket := "the container has the engine's socket: it can start any other container, and so take over this host"
	eventually(t, patience, "it is looked at anew", func() bool { all, _ := c.warned(t); return strings.Contains(all, socket) })
	says("started again", ipc+"\n"+socket+"\n"+code)
	h.Must(t, "hostexec", "stop", c.Session)
	says("without a watcher", ipc+"\n"+socket+"\n"+code)

	plain := h.Holding(t, "--proxy", "htrue=/bin/true")
	all, short := plain.warned(t)
	want(t, "nothing dangerous", all+short, "-")
}

// TestIntegrationWarningsAttached checks the warnings of attach, an agent and a proxy.
//
// Attack 120.
func TestIntegrationWarningsAttached(t *testing.T) {
	h := newHost(t, false)
	c := h.startUnknown(t, "--pid", "host")
	r := h.Docker(t, "hostexec", "attach", "--detach", "--proxy", "make=/bin/true", c.ID)
	want(t, "attach: "+r.Err, r.Code, 0)
	want(t, "attach's stderr", r.Err, "")
	c.Session = strings.TrimSpace(r.Out)
	all, short := c.warned(t)
	if short != "2" || !strings.Contains(all, "--pid host") || !strings.Contains(all, "HOST CODE EXECUTION: make runs code from "+h.Work) {
		t.Errorf("attached: %s, %q", short, all)
	}
	h.Must(t, "hostexec", "detach", c.ID)
}

// TestIntegrationWarningsScript checks that run warns a script whose login shells would run other commands, or
// none.
func TestIntegrationWarningsScript(t *testing.T) {
	h := newHost(t, false)
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"a flag without effect", "hostexec: warning: --workdir-host /etc has no effect, because directories of this host are mounted: commands run in these\n",
			[]string{"-v", h.Work + ":/w", "--workdir-host", "/etc"}},
		{"a flag with effect", "", []string{"--workdir-host", h.Work}},
		{"read-only", "", []string{"--read-only"}},
		{"a tmpfs above", "", []string{"--tmpfs", "/usr/local"}},
	} {
		args := append([]string{"hostexec", "run", "--rm", "--label", runLabel, "--proxy", "htrue=/bin/true"}, tt.args...)
		r := h.Docker(t, append(args, image(t, "full"), "/bin/true")...)
		want(t, tt.name+": code", r.Code, 0)
		want(t, tt.name, r.Err, tt.want)
	}
}
