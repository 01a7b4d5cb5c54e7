// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ruled starts a container whose person has this configuration.
func ruled(t *testing.T, h *Host, text string, flags ...string) *Container {
	t.Helper()
	h.Write(t, h.State, "config.yaml", text, 0o600)
	return h.Holding(t, flags...)
}

// reconfigure replaces the configuration in one step: who looks meanwhile never sees half
// of it.
func (h *Host) reconfigure(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(h.State, "config.yaml")
	check(t, os.Rename(h.Write(t, h.State, "config.new", text, 0o600), file))
}

// forNewUsers runs do for people of whom no other test knows, beside one another.
func forNewUsers(t *testing.T, do func(*testing.T, *Host)) {
	for _, ordinary := range []bool{false, true} {
		h := newHost(t, ordinary)
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			do(t, h)
		})
	}
}

const rulesText = `version: 1
commands:
  sh:
    exec: /bin/sh
    rules:
      - {id: cut, do: allow, accept: host-code-execution, output: 1KiB, argv: [-c, 'seq 100000']}
      - {id: slow, do: allow, accept: host-code-execution, timeout: 3s, argv: [-c, 'echo begun; sleep 98 & sleep 98']}
      - {id: env, do: allow, accept: host-code-execution, env: {clean: true, set: {FOO: bar}}, argv: [-c, env]}
      - {id: none, do: allow, accept: host-code-execution, argv: [-c, 'tty; cat; echo end']}
      - {id: pipe, do: allow, accept: host-code-execution, stdin: pipe, argv: [-c, 'cat']}
      - {id: order, do: allow, accept: host-code-execution, argv: [-c, 'echo 1; echo 2 >&2; echo 3']}
      - {id: file, do: allow, accept: host-code-execution, argv: [{path: ws, type: file, snapshot: true}]}
      - {id: no, do: deny, argv: [-c, 'echo denied']}
  cat:
    rules:
      - {id: file, do: allow, effects: [read], argv: [{path: ws, type: file}]}
  hsh:
    rules:
      - {id: no, do: deny, reason: not that, argv: [-c, 'echo denied']}
  fixed:
    exec: /bin/echo
    rules:
      - {id: f, do: allow, effects: [read], fixed: [always, this]}
approval:
  auto_approve: ['^echo ok$', '^echo never$']
hostexec:
  manual_approve: [{pattern: '^printf '}]
`

// TestIntegrationRules checks calls that a configuration decides: the command, the part of the
// environment that it gets, and the refusal of calls without a rule.
//
// Attacks 36, 63, 80, 141.
func TestIntegrationRules(t *testing.T) {
	tests := []struct {
		name, in string
		args     []string
		out      string
		code     int
		err      string // part of it; *: any, for whether stdin has data yet is a matter of time
	}{
		{"no stdin, no terminal", "unread\n", []string{"sh", "-c", "tty; cat; echo end"}, "not a tty\nend\n", 0, "*"},
		{"stdin as a pipe", "read\n", []string{"sh", "-c", "cat"}, "read\n", 0, ""},
		{"the output is cut", "", []string{"sh", "-c", "seq 100000"}, "*", 125, "cut after 1024 bytes, the limit of sh/cut"},
		{"time is up", "", []string{"sh", "-c", "echo begun; sleep 98 & sleep 98"}, "begun\n", 124, "ended after 3s, the timeout of sh/slow"},
		{"a rule that denies", "", []string{"sh", "-c", "echo denied"}, "", 126, "denied by rule sh/no"},
		{"no rule", "", []string{"sh", "-c", "echo other"}, "", 126, "no rule of sh allows these arguments"},
		{"a file", "", []string{"cat", "f"}, "data\n", 0, ""},
		{"the container's name of a file", "", []string{"cat", "/w/f"}, "data\n", 0, ""},
		{"a file of a mount in a mount", "", []string{"cat", "over/f"}, "of the other\n", 0, ""},
		{"a link out", "", []string{"cat", "out"}, "", 126, "a symbolic link is on the way"},
		{"a path that climbs", "", []string{"cat", "sub/../../../etc/passwd"}, "", 126, `".." is on the way`},
		{"a path elsewhere", "", []string{"cat", "/etc/passwd"}, "", 126, "not below a bind mount"},
		{"a file that is none", "", []string{"cat", "fifo"}, "", 126, "not a regular file"},
		{"an option", "", []string{"cat", "-n", "f"}, "", 126, " -- cat ... on the host shows why"},
		{"what a list allows", "", []string{"echo", "ok"}, "ok\n", 0, ""},
		{"one word is not two", "", []string{"echo ok"}, "", 127, "not the name of a command"},
		{"a line feed", "", []string{"echo", "ok\n"}, "", 127, "no list can match it"},
		{"another alphabet", "", []string{"echo", "\u00e9"}, "", 127, "no list can match it"},
		{"what a list has asked, with nobody there", "", []string{"printf", "x"}, "", 126, "nobody is there to ask"},
		{"fixed", "", []string{"fixed", "--anything"}, "always this\n", 0, ""},
		{"a denial before --proxy", "", []string{"hsh", "-c", "echo denied"}, "", 126, "not that"},
		{"--proxy with its action before the other rules", "", []string{"hsh", "-c", "echo proxied"}, "proxied\n", 0, ""},
		{"unknown", "", []string{"id"}, "", 127, "not a proxied command"},
	}
	forNewUsers(t, func(t *testing.T, h *Host) {
		other := filepath.Join(h.Home, "other")
		for _, dir := range []string{filepath.Join(h.Work, "over"), other} {
			h.mkdir(t, dir)
		}
		h.Write(t, other, "f", "of the other\n", 0o644)
		h.Write(t, filepath.Join(h.Work, "over"), "f", "never seen by the container\n", 0o644)
		c := ruled(t, h, rulesText, "--proxy", "hsh=allow,path=/bin/sh", "-v", other+":/w/over")
		h.Write(t, h.Work, "f", "data\n", 0o644)
		check(t, os.Symlink("/etc/passwd", filepath.Join(h.Work, "out")))
		h.feed(t, "", "mkfifo", "fifo")
		for _, tt := range tests {
			r := c.Feed(t, tt.in, append([]string{"hostexec", "--"}, tt.args...)...)
			if (tt.out != "*" && r.Out != tt.out) || r.Code != tt.code || tt.err != "*" && !strings.Contains(r.Err, tt.err) || tt.err == "" && r.Err != "" {
				t.Errorf("%s: %q: %v", tt.name, tt.args, r)
			}
		}
		want(t, "a list, and a stdin with data", c.Sh(t, "hostexec echo ok <f").String(), Result{Out: "ok\n",
			Err: "hostexec: stdin was not passed on: a command that a rule or list allows gets it only if the rule has stdin: pipe\n"}.String())
		if r := c.Exec(t, "hostexec", "sh", "-c", "seq 100000"); len(r.Out) != 1024 {
			t.Errorf("%d bytes came of the output that is cut", len(r.Out))
		}
		if r := c.Exec(t, "hostexec", "sh", "-c", "env"); !strings.Contains(r.Out, "\nFOO=bar\n") || strings.Contains(r.Out, "HOST_SECRET") || !strings.Contains(r.Out, "PAGER=cat") {
			t.Errorf("the clean environment: %v", r)
		}
		if r := c.Sh(t, `hostexec sh -c 'echo 1; echo 2 >&2; echo 3' > order 2>&1; cat order`); r.Out != "1\n2\n3\n" {
			t.Errorf("the order of 2>&1: %v", r)
		}
		want(t, "ls", c.Exec(t, "hostexec", "ls").Out, "COMMAND   ACTION   CALL\n"+
			"hsh       allow    hsh\ncat       rules    hostexec cat\nfixed     rules    hostexec fixed\nsh        rules    hostexec sh\n")
		// By name it is called where the container has no program of that name, also by a login shell.
		want(t, "by name", c.Sh(t, "fixed && PATH=/usr/local/bin fixed && command -v cat sh").Out, "always this\nalways this\n/bin/cat\n/bin/sh\n")
	})
}

// TestIntegrationSnapshot rewrites a script while a person looks at it: the script that was shown
// runs.
//
// Attacks 65, 71, 149.
func TestIntegrationSnapshot(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, `version: 1
commands:
  sh:
    exec: /bin/sh
    rules:
      - {id: script, do: ask, argv: [{path: ws, type: file, snapshot: true}]}
      - {id: input, do: ask, stdin: capture(1KiB), argv: [-s]}
`)
		approver(t, h)
		h.Write(t, h.Work, "s.sh", "echo shown\n", 0o666)
		waitUntilAsked(t, c, "hostexec", "sh", "s.sh")
		call := c.Start(t, "hostexec", "sh", "s.sh")
		q := pending(t, h, "sh s.sh", 1)[0]
		check(t, os.WriteFile(filepath.Join(h.Work, "s.sh"), []byte("echo evil\n"), 0o666))
		h.Must(t, "hostexec", "approve", q.ID)
		want(t, "what ran", call.Wait(t).Out, "shown\n")
		eventually(t, soon, "no copy is left", func() bool {
			left, err := filepath.Glob(filepath.Join(h.State, "sessions", c.Session, "scratch", "*"))
			check(t, err)
			return len(left) == 0
		})

		fed := c.Start(t, "hostexec", "sh", "-s")
		_, err := fmt.Fprintln(fed.In, "echo captured")
		check(t, err)
		check(t, fed.In.Close())
		q = pending(t, h, "sh -s", 1)[0]
		h.Must(t, "hostexec", "approve", q.ID)
		want(t, "what ran", fed.Wait(t).Out, "captured\n")
		if r := c.Feed(t, strings.Repeat("x", 2000), "hostexec", "sh", "-s"); r.Code != 126 || !strings.Contains(r.Err, "stdin has more than 1024 bytes") {
			t.Errorf("too much stdin: %v", r)
		}
	})
}

// TestIntegrationConfigChanges edits the configuration of a running session. The next decision uses
// it, waiting calls are decided again, and a broken configuration lets nothing run.
//
// Attacks 69, 157.
func TestIntegrationConfigChanges(t *testing.T) {
	const text = "version: 1\ncommands:\n  echo:\n    rules:\n      - {id: e, do: %s, argv: [hello]}\n"
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, fmt.Sprintf(text, "allow"))
		write := func(text string) { h.reconfigure(t, text) }
		want(t, "allowed", c.Exec(t, "hostexec", "echo", "hello").Out, "hello\n")
		write(fmt.Sprintf(text, "deny"))
		want(t, "denied", c.Exec(t, "hostexec", "echo", "hello").Code, 126)
		write(fmt.Sprintf(text, "ask"))
		approver(t, h)
		waitUntilAsked(t, c, "hostexec", "echo", "hello")
		for action, code := range map[string]int{"allow": 0, "deny": 126} {
			write(fmt.Sprintf(text, "ask"))
			call := c.Start(t, "hostexec", "echo", "hello")
			pending(t, h, "hello", 1)
			write(fmt.Sprintf(text, action))
			want(t, "code of what waited for "+action, call.Ended(t).Code, code)
			pending(t, h, "hello", 0)
		}
		write("version: 1\ncomands: {}\n")
		if r := c.Exec(t, "hostexec", "echo", "hello"); r.Code != 126 || !strings.Contains(r.Err, "the host's configuration is broken: docker hostexec policy check") {
			t.Errorf("with a broken configuration: %v", r)
		}
		if r := h.Run(t, "--rm", image(t, "full"), "true"); r.Code != 125 || !strings.Contains(r.Err, "config.yaml:2") {
			t.Errorf("run with a broken configuration: %v", r)
		}
		write(fmt.Sprintf(text, "allow"))
		want(t, "mended", c.Exec(t, "hostexec", "echo", "hello").Out, "hello\n")
	})
}

// TestIntegrationConfiguredCommands checks the proxied commands of the configuration.
func TestIntegrationConfiguredCommands(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "version: 1\nproxies: ['hsh=/bin/sh', 'hcat=/bin/cat']\n", 0o600)
	r := h.Run(t, "--rm", "--proxy", "hcat=deny", image(t, "full"), "bash", "-c", "hsh -c 'echo configured'; hcat; echo $?")
	want(t, "stdout", r.Out, "configured\n126\n")
}

// TestIntegrationPolicyAddOffersProject checks that on a terminal the first rule of a command is
// for one project, unless the user chooses all projects.
func TestIntegrationPolicyAddOffersProject(t *testing.T) {
	h := dockerUsers(t)[0]
	for answer, file := range map[string]string{"\r": "projects", "y\r": "config.yaml"} {
		m := h.term(t, "docker", "hostexec", "policy", "add", "--ask", "--", "make", "deploy")
		m.Expect(t, "Is it for all projects, not only for ")
		m.Type(t, answer)
		want(t, "code", m.Wait(t), 0)
		if _, err := os.Stat(filepath.Join(h.State, file)); err != nil {
			t.Errorf("after %q: %v", answer, err)
		}
		check(t, os.RemoveAll(filepath.Join(h.State, file)))
	}
}
