// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationInterruptVerbs types ^C at waiting verbs, in the container and on the host. Each
// ends at once as a program that ^C ends, and the processes that it started end too.
func TestIntegrationInterruptVerbs(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh", "--proxy-shell")
	c.Sh(t, "hostexec session create s; hostexec session exec s -- :")
	job, _, _ := strings.Cut(c.Exec(t, "hostexec", "-d", "hsh", "-c", "echo said; exec sleep 1000").Out, " ")
	const text = "echo said; exec sleep 1000"
	verbs := map[string]func() *Term{
		"exec":  func() *Term { return c.Term(t, "hostexec", "session", "exec", "s", "--", "("+text+")") },
		"start": func() *Term { return c.Term(t, "hostexec", "session", "start", "s", "--", text) },
		"logs":  func() *Term { return c.Term(t, "hostexec", "logs", "-f", job) },
		"on the host, exec": func() *Term {
			return h.term(t, "docker", "hostexec", "shell", "exec", c.Session, "s", "--", "("+text+")")
		},
		"on the host, start": func() *Term { return h.term(t, "docker", "hostexec", "shell", "start", c.Session, "s", "--", text) },
		"on the host, logs":  func() *Term { return h.term(t, "docker", "hostexec", "logs", "--job", job, "-f") },
	}
	for name, begin := range verbs {
		m := begin()
		m.Expect(t, "said\r\n")
		m.Type(t, "\x03")
		want(t, name+": code", m.Wait(t), 130)
	}
	for _, verb := range []string{"exec", "start"} {
		m := h.term(t, "docker", "hostexec", "shell", verb, "--json", c.Session, "s", "--", "(echo said; exec sleep 1001)")
		eventually(t, patience, "the text runs", func() bool {
			return strings.Contains(h.Must(t, "hostexec", "ps"), "sleep 1001")
		})
		m.Type(t, "\x03")
		m.Expect(t, `"error":"its caller got SIGINT"`)
		want(t, verb+" --json: code", m.Wait(t), 130)
	}
	eventually(t, patience, "the job alone runs", func() bool {
		return strings.Count(c.Exec(t, "hostexec", "ps").Out, " running ") == 1
	})
}

// TestIntegrationHangUp sends HUP, as a closed terminal does, to verbs that wait. Each ends as by other signals, and
// leaves its terminal as it was.
func TestIntegrationHangUp(t *testing.T) {
	h := newHost(t, false)
	want(t, "code of proxy", h.Proxy(t, "sh=/bin/sh").Stop(t, syscall.SIGHUP), 0)

	const script = `before=$(stty -g); sh -c 'echo $$; exec "$0" pending --watch' "$0"; echo code $?; test "$before" = "$(stty -g)" && echo same`
	m := h.term(t, "sh", "-c", script, pluginPath(t))
	pid, _, _ := strings.Cut(m.Expect(t, "q leaves.\r\n"), "\r\n")
	hold(t, atoi(t, pid)).Signal(t, syscall.SIGHUP)
	m.Expect(t, "code 129\r\nsame\r\n")
	want(t, "code", m.Wait(t), 0)
}
