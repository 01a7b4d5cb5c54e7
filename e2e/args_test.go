// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestIntegrationArguments passes arguments to the host that careless quoting would change.
func TestIntegrationArguments(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"none", `hp args`, `[]`},
		{"empty ones", `hp args '' a ''`, `["\"\"","\"a\"","\"\""]`},
		{"a newline", `hp args $'a\nb\n'`, `["\"a\\nb\\n\""]`},
		{"invalid UTF-8", `hp args $'\xff\xfe' $'ok\xc3'`, `["\"\\xff\\xfe\"","\"ok\\xc3\""]`},
		{"what a shell would expand", `hp args '$HOME' '*' '~' '` + "`id`" + `' 'a b' '"' '\' ';' '&&'`,
			`["\"$HOME\"","\"*\"","\"~\"","\"` + "`id`" + `\"","\"a b\"","\"\\\"\"","\"\\\\\"","\";\"","\"\u0026\u0026\""]`},
		{"what could be a flag", `hp args -- --help -x --proxy=a`, `["\"--\"","\"--help\"","\"-x\"","\"--proxy=a\""]`},
		{"control characters", `hp args $'\e[31m\a\r\x01'`, `["\"\\x1b[31m\\a\\r\\x01\""]`},
		{"120 KB in one", `hp args "$(printf 'a%.0s' {1..122880})"`, `["122880 bytes, all \"a\": true"]`},
		{"1 MB in many", `hp args $(printf 'aaaaaaaaa %.0s' {1..100000}) | wc -c`, "1600002"},
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		for _, tt := range tests {
			r := c.Sh(t, tt.script)
			want(t, tt.name, strings.TrimSpace(r.Out)+r.Err, tt.want)
		}
	})
}

// TestIntegrationTooLong makes the one call that is longer than a request may be.
//
// Attack 144.
func TestIntegrationTooLong(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		// 19 arguments of 120 KB are more than 2 MiB in a frame, and the stack limit lets
		// a process have them.
		r := c.Sh(t, `ulimit -s unlimited; a=$(printf 'a%.0s' {1..122880}); hp args $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a`)
		want(t, "code", r.Code, 126)
		want(t, "stderr", r.Err, "hostexec: argument list too long\n")
	})
}

// TestIntegrationExitCodes checks every exit code.
//
// Attack 47.
func TestIntegrationExitCodes(t *testing.T) {
	var all strings.Builder
	for i := range 256 {
		fmt.Fprintln(&all, i)
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		r := c.Sh(t, `for i in {0..255}; do hsh -c "exit $i"; echo $?; done`)
		want(t, "codes", r.Out+r.Err, all.String())
	})
}

// TestIntegrationSignalDeaths kills the host's command with each signal. A shell must see 128 plus the number.
// For HUP, INT, TERM and KILL the shim dies of the same signal.
func TestIntegrationSignalDeaths(t *testing.T) {
	signals := map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15}
	forEachUser(t, func(t *testing.T, c *Container) {
		for name, n := range signals {
			r := c.Sh(t, `hsh -c 'ulimit -c 0; kill -`+name+` $$'; echo $?`)
			want(t, "status after "+name, r.Out, fmt.Sprintln(128+n))
			if strings.Contains(r.Err, "hostexec:") {
				t.Errorf("%s: stderr %q", name, r.Err)
			}
		}
	})
}

// TestIntegrationCannotRun calls commands that cannot run, each for another reason.
func TestIntegrationCannotRun(t *testing.T) {
	tests := []struct {
		name, command string
		code          int
		err           []string
	}{
		{"lost by the host", "lost", 127, []string{"hostexec: lost: not found on the host", "/lost"}},
		{"not executable any more", "unfit", 126, []string{"hostexec: unfit: not executable on the host", "/unfit"}},
		{"denied", "banned", 126, []string{"hostexec: banned:", "--proxy banned"}},
		{"not proxied", "hostexec nosuch", 127, []string{"hostexec: nosuch:", "hostexec ls"}},
		{"not a name", "hostexec ../../bin/sh", 127, []string{"hostexec:"}},
		{"an absolute path", "hostexec /bin/sh -c id", 127, []string{"hostexec:"}},
	}
	forEachUser(t, func(t *testing.T, c *Container) {
		for _, tt := range tests {
			r := c.Sh(t, tt.command)
			want(t, tt.name+": code", r.Code, tt.code)
			want(t, tt.name+": stdout", r.Out, "")
			want(t, tt.name+": lines of stderr", strings.Count(r.Err, "\n"), 1)
			for _, text := range tt.err {
				if !strings.Contains(r.Err, text) {
					t.Errorf("%s: stderr %q does not say %q", tt.name, r.Err, text)
				}
			}
		}
	})
}
