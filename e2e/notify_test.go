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

// desktop gives the user a desktop whose notify-send records its arguments and exits with code. It
// has no browser: no page starts.
func desktop(t *testing.T, h *Host, code string) (told string) {
	t.Helper()
	bin := filepath.Join(h.Home, "bin")
	h.mkdir(t, bin)
	told = filepath.Join(h.Home, "told")
	h.Write(t, bin, "notify-send", "#!/bin/sh\nprintf '<%s>' \"$@\" >>"+told+"\nexit "+code+"\n", 0o755)
	h.Env = append(h.Env, "PATH="+bin+":"+os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent")
	return told
}

// nobody starts a container away from any terminal, whose calls of hsh are asked about.
func (h *Host) nobody(t *testing.T) *Container {
	t.Helper()
	run := h.runArgs(append([]string{"-d"}, h.holding(t, []string{"--proxy", "hsh=ask,path=/bin/sh"})...)...)
	r := h.feed(t, "", "setsid", append([]string{"-w", "docker"}, run...)...)
	if r.Code != 0 {
		t.Fatalf("docker hostexec run: %v", r)
	}
	c := &Container{Host: h, ID: strings.TrimSpace(r.Out), User: "0"}
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", c.ID) })
	c.Session = c.Inspect(t, `{{index .Config.Labels "io.hostexec.session"}}`)
	return c
}

// TestIntegrationDesktop checks a host on which only a desktop notification is possible: the
// question waits, and the notification contains only the number of questions.
//
// Attack 99.
func TestIntegrationDesktop(t *testing.T) {
	h := newHost(t, false)
	told := desktop(t, h, "0")
	c := h.nobody(t)
	call := c.Start(t, "hsh", "-c", "echo '<b>secret</b>'")
	id := pending(t, h, "secret", 1)[0].ID
	eventually(t, patience, "the desktop is told", func() bool {
		b, _ := os.ReadFile(told)
		return string(b) == "<--app-name=docker hostexec><--><docker hostexec><docker hostexec: 1 request waits for approval>"
	})
	h.Must(t, "hostexec", "approve", id)
	want(t, "code", call.Ended(t).Code, 0)
}

// TestIntegrationDesktopFails uses a notify-send that has stopped working: nobody can be asked.
func TestIntegrationDesktopFails(t *testing.T) {
	h := newHost(t, false)
	told := desktop(t, h, "1")
	c := h.nobody(t)
	r := c.Exec(t, "hsh", "-c", "echo ran")
	if r.Code != 126 || r.Out != "" || !strings.Contains(r.Err, "nobody is there to ask") {
		t.Errorf("the caller is told %v", r)
	}
	if _, err := os.Stat(told); err != nil {
		t.Errorf("it was not tried: %v", err)
	}
	want(t, "DENY in the audit log", len(h.Audit(t, "HOSTEXEC DENY", "nobody is there")), 1)
}

// TestIntegrationJSON reads how calls end as an agent would.
//
// Attack 47.
func TestIntegrationJSON(t *testing.T) {
	h := newHost(t, false)
	desktop(t, h, "0")
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh", "--proxy", "banned=deny", "--proxy", "htrue="+find(t, "true"))
	env := []string{"env", "HOSTEXEC_JSON=1"}
	last := func(r Result) (end struct {
		Status, Reason, Rule, Request, Hint string
		Code                                int
	}) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(r.Err), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil {
			t.Fatalf("%v: %v", err, r)
		}
		want(t, "code", r.Code, end.Code)
		return end
	}
	e := last(c.Exec(t, append(env, "banned")...))
	want(t, "status", e.Status+e.Rule, "refused--proxy banned=deny")
	want(t, "status", last(c.Exec(t, append(env, "hostexec", "unknown")...)).Status, "not_proxied")
	call := c.Start(t, append(env, "hsh", "-c", "echo denied")...)
	id := pending(t, h, "denied", 1)[0].ID
	h.Must(t, "hostexec", "deny", "-m", "not \"today\"", id)
	e = last(call.Ended(t))
	want(t, "status", e.Status+e.Request, "denied"+id)
	if !strings.Contains(e.Reason, `today`) {
		t.Errorf("reason: %s", e.Reason)
	}
	if r := c.Exec(t, append(env, "htrue")...); r.Err != "" {
		t.Errorf("a command's own end: %v", r)
	}
	h.Must(t, "hostexec", "stop", c.Session)
	e = last(c.Exec(t, append(env, "htrue")...))
	want(t, "status", e.Status, "failed")
	if e.Code != 125 || !strings.Contains(e.Hint, "docker hostexec resume") {
		t.Errorf("without a watcher: %+v", e)
	}
}
