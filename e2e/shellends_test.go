// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationShellStream checks that output arrives while a text runs, in the shell and in a copy.
func TestIntegrationShellStream(t *testing.T) {
	forEachShellBackend(t, func(t *testing.T, g shellBackend) {
		g.make(t)
		want(t, "a second shell", g.x(t, `create other; x 'mkfifo go'`).Code, 0)
		for _, verb := range []string{"exec", "start"} {
			call := g.Start(t, "hostexec", "session", verb, "s", "--", `echo one; read l <go; echo $l`)
			want(t, verb+": while it runs", call.Line(t), "one")
			g.x(t, `hostexec session exec other -- 'echo two >go'`)
			want(t, verb+": then", call.Line(t), "two")
			want(t, verb+": its end", call.Wait(t).Code, 0)
		}
		g.x(t, `x 'rm go'`)
	})
}

// TestIntegrationShellKill kills a copy with all that it started, and nothing else.
func TestIntegrationShellKill(t *testing.T) {
	forEachShellBackend(t, func(t *testing.T, g shellBackend) {
		g.make(t)
		shell := g.x(t, `x 'sleep 4713 & echo $$'`).Out
		call := g.Start(t, "hostexec", "session", "start", "s", "--",
			`bash -c "sleep 4712 & setsid sleep 4712 & (trap '' TERM; sleep 4712) & echo on; sleep 4712"`)
		want(t, "it runs", call.Line(t), "on")
		want(t, "the shell is free", g.x(t, `x 'echo free'`).Out, "free\n")
		want(t, "its tree", sleeping("4712"), 4)
		id := strings.TrimSpace(g.Host.Must(t, "hostexec", "ps", "-q", g.ID))
		want(t, "killed", g.Host.Docker(t, "hostexec", "kill", id).Code, 0)
		r := call.Wait(t)
		want(t, "how it ended", r.Code, 128+15)
		if !strings.Contains(r.Err, "pid ") {
			t.Errorf("it told no pid: %v", r)
		}
		want(t, "what is left", sleeping("4712"), 0)
		want(t, "what is the shell's own", sleeping("4713"), 1)
		want(t, "the shell", g.x(t, `x 'echo $$'`).Out, shell)
		want(t, "killed again", g.Host.Docker(t, "hostexec", "kill", id).Code, 1)
		g.x(t, `hostexec session rm s`)
		want(t, "after rm", sleeping("4713"), 0)
	})
}

// TestIntegrationShellTimeout ends the processes of a text, whichever signals they ignore, and
// keeps the shell.
func TestIntegrationShellTimeout(t *testing.T) {
	forEachShellBackend(t, func(t *testing.T, g shellBackend) {
		g.make(t)
		shell := g.x(t, `x 'kept=yes; cd /tmp; echo $$'`).Out
		for _, text := range []string{
			`(sleep 4714; echo no); echo no`, `sleep 4714 | cat; echo no`,
			`sleep 4714 & setsid sleep 4714 & wait; echo no`, `while :; do :; done`, `sh -c 'trap "" INT TERM; while :; do sleep 4714; done'; echo no`,
		} {
			r := g.Sh(t, `hostexec session exec --timeout 1s s -- "$1"`, "echo partial; "+text)
			if r.Out != "partial\n" || r.Code != 124 || !strings.Contains(r.Err, "Command timeout after 1000ms") {
				t.Errorf("%s: %v", text, r)
			}
			want(t, text+": left", sleeping("4714"), 0)
			want(t, text+": the shell", g.x(t, `x 'echo $$; echo $kept $PWD >&2'`), Result{shell, "yes /tmp\n", 0})
		}
		r := g.Sh(t, `HOSTEXEC_TIMEOUT=1 hostexec session exec s -- 'sh -c "trap \"\" INT TERM; while :; do sleep 4714; done"'`)
		if r.Code != 124 || !strings.Contains(r.Err, "ended after 1s, the limit of its caller") {
			t.Errorf("a text that ends after its caller has left: %v", r)
		}
		eventually(t, patience, "it ends", func() bool { return sleeping("4714") == 0 })
	})
}

// TestIntegrationShellDies kills a shell from outside, while it is idle and while it runs.
func TestIntegrationShellDies(t *testing.T) {
	forEachShellBackend(t, func(t *testing.T, g shellBackend) {
		g.make(t)
		call := g.Start(t, "hostexec", "session", "exec", "s", "--", `sleep 4715 & echo on; exec sleep 4715`)
		want(t, "it runs", call.Line(t), "on")
		eventually(t, soon, "two sleep", func() bool { return sleeping("4715") == 2 })
		for _, pid := range sleepers("4715") {
			hold(t, pid).Signal(t, syscall.SIGKILL)
		}
		r := call.Wait(t)
		want(t, "code", r.Code, 125)
		if !strings.Contains(r.Err, "shell terminated unexpectedly (exit code: 137)") {
			t.Errorf("it ended with %v", r)
		}
		want(t, "a fresh one", g.x(t, `x 'echo fresh'`).Out, "fresh\n")
	})
}

// TestIntegrationShellEnds kills the watcher, and stops the session, over shells that run
// something: nothing is left, in a container no more than on the host.
func TestIntegrationShellEnds(t *testing.T) {
	for _, how := range []string{"kill", "stop"} {
		t.Run(how, func(t *testing.T) {
			forEachShellBackend(t, func(t *testing.T, g shellBackend) {
				g.x(t, `for i in 1 2 3; do create s$i; hostexec session exec s$i -- 'sleep 4711 & setsid sleep 4711 & (setsid sleep 4711 &)'; done`)
				running := g.Start(t, "hostexec", "session", "exec", "s1", "--", "echo on; sleep 4711")
				want(t, "it runs", running.Line(t), "on")
				eventually(t, soon, "all sleep", func() bool { return sleeping("4711") == 10 })
				if how == "stop" {
					g.Host.Must(t, "hostexec", "stop", g.ID)
				} else {
					g.Host.Watcher(t, g.Session).Signal(t, syscall.SIGKILL)
				}
				eventually(t, patience, "all have ended", func() bool { return sleeping("4711") == 0 })
				if g.in != "" {
					eventually(t, patience, "nothing is left in the container", func() bool {
						return g.Host.Must(t, "exec", g.in, "bash", "-c", `shopt -s nullglob; echo /tmp/hostexec-*`) == "\n" && strings.Count(g.Host.Must(t, "top", g.in), "\n") == 2
					})
				}
				if how == "kill" {
					return // resume, or prune, finds the files
				}
				left, err := filepath.Glob(filepath.Join(g.Host.State, "sessions", g.Session, "shells", "*"))
				check(t, err)
				want(t, "files", len(left), 0)
			})
		})
	}
}

// TestIntegrationShellUnmounted names directories in a container without mounts of the host. A
// missing directory is an error, and no other takes its place.
func TestIntegrationShellUnmounted(t *testing.T) {
	h := newHost(t, false)
	c := h.Detached(t, "--network", "none", "--proxy-shell", image(t, "full"), "/probe", "hold")
	want(t, "create", c.Exec(t, "hostexec", "session", "create", "s").Code, 0)
	for name, tt := range map[string]struct{ create, pwd string }{
		"absolute": {"hostexec session create --cwd /usr/share absolute", "/usr/share\n"},
		"relative": {"cd /usr && hostexec session create --cwd share relative", "/usr/share\n"},
		"missing":  {"hostexec session create --cwd /no/such missing", h.Home + "\n"},
	} {
		want(t, name+": where it starts", c.Sh(t, tt.create+"; hostexec session exec "+name+" -- pwd").Out, tt.pwd)
	}
	for _, tt := range []struct{ words, says, name, pwd string }{
		{"--cwd MISSING " + c.Session + " own", "is not a directory: the shell starts in HOME", "own", h.Home + "\n"},
		{"--cwd . " + c.Session + " here", "", "here", h.Work + "\n"},
		{c.Session + " here", "hostexec: shell here: there is a shell of that name\nhostexec: hint: docker hostexec shell ls ", "here", h.Work + "\n"},
		{c.Session + " ..", ": the name of a shell has at most 64 letters", "", ""},
	} {
		r := h.Docker(t, append([]string{"hostexec", "shell", "create"}, strings.Fields(tt.words)...)...)
		if !strings.Contains(r.Err, tt.says) || strings.Contains(r.Err, "watcher") {
			t.Errorf("create %s: %v", tt.words, r)
		}
		if tt.name != "" {
			want(t, tt.words+": where it starts", h.Must(t, "hostexec", "shell", "exec", c.Session, tt.name, "--", "pwd"), tt.pwd)
		}
	}
	for _, verb := range []string{"exec", "start"} {
		r := c.Exec(t, "hostexec", "session", verb, "--cwd", "/no/such", "s", "--", "pwd")
		if r.Code != 1 || r.Out != "" || !strings.Contains(r.Err, "Failed to change directory to /no/such\n") {
			t.Errorf("%s in what is not there: %v", verb, r)
		}
		want(t, verb+" in a directory of the host's", c.Exec(t, "hostexec", "session", verb, "--cwd", h.Home, "s", "--", "pwd -P").Out, h.Home+"\n")
	}
}
