// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// shellRows are what a container types, one after the other, and what it then reads. Each
// is called by the rows of source 002 that it holds.
var shellRows = []struct {
	row, script string
	out, err    string // err is a part of stderr
	code        int
}{
	{"F002-070 not ready", `x 'echo'`, "", "not ready", 125},
	{"F002-063 create", `create --env A-b=1 s`, "", "Invalid environment variable name: A-b", 2},
	{"F002-058", `create --env 'A=a b' s`, "", "", 0},
	{"F002-058 later", `x 'echo "$A"'`, "a b\n", "", 0},
	{"F002-001", `x 'V=1; f() { echo "f $V"; }; mkdir -p sub; cd sub'; x 'f; echo ${PWD##*/}'`, "f 1\nsub\n", "", 0},
	{"F002-002", `x 'echo o; echo e >&2; exit_() { return 3; }; exit_'`, "o\n", "e\n", 3},
	{"F002-003", `x 'cd ..'; x 'mkdir -p silent'; x 'Z=1'`, "", "", 0},
	{"F002-015", `x 'head -c 300000 /dev/zero | base64 -w0' | wc -c`, "400000\n", "", 0},
	{"F002-049", `x 'echo ran' --cwd /no/such`, "", "Failed to change directory to /no/such", 1},
	{"F002-051 F002-072", `x 'sleep 3' --timeout 1s`, "", "1000ms", 124},
	{"F002-008", `x 'echo $V'`, "1\n", "", 0},
	{"F002-052", `x 'exit 3'`, "", "shell terminated unexpectedly (exit code: 3)", 125},
	{"F002-052 fresh", `x 'echo "$A$V"'`, "a b\n", "", 0},
	{"F002-055 F002-057", `x 'cat /proc/$$/task/$$/children | wc -w'`, "2\n", "", 0}, // those two
	{"F002-061", `x no-such-command`, "", "not found", 127},
	{"F002-062 F002-064", `x 'echo "$B"' --env 'B=it'"'"'s "$HOME"'; x 'echo "[$B]"'`, "it's \"$HOME\"\n[]\n", "", 0},
	{"F002-065", `x 'echo ${PWD##*/}' --cwd silent; x 'ls -d silent'`, "silent\nsilent\n", "", 0},
	{"F002-067", `x "$(printf 'cat <<E\n$A\nE')"`, "a b\n", "", 0},
	{"F002-068", `echo in | x 'cat; echo end'`, "end\n", "", 0},
	{"F002-069", `x 'mkdir gone; cd gone; rmdir ../gone'; x 'cd ..; cd /; echo on'`, "on\n", "", 0},
	{"F002-073", `x 'echo quick' --timeout 30s`, "quick\n", "", 0},
	{"K19", `x 'echo "open'; x 'if true'; x 'echo on'`, "on\n", "unexpected", 0},
	{"F002-032", `x 'sleep 1000 & echo on'`, "on\n", "", 0},
	{"F002-009", `hostexec session start s -- 'A=x; cd /; echo on; exit 4'; echo $?; x 'echo "$A"'`, "on\n4\na b\n", "pid ", 0},
	{"F002-014 F002-066", `x 'seq 1 300000; seq 1 100000 >&2' 2>&1 >/tmp/o | tail -1; tail -1 /tmp/o; wc -c </tmp/o`, "100000\n300000\n1988895\n", "", 0},
	{"F002-016 F002-017", `x 'cd; mkdir -p sub; { cd sub; export E=1; }'; x 'sh -c "echo \$E \$PWD"' | grep -c '1 .*sub'; x 'cd ..'`, "1\n", "", 0},
	{"F002-056", `x 'echo "$0 ${BASH##*/} ${HISTFILE-none}"'`, "bash bash none\n", "", 0},
	{"F002-059", `create --cwd /no/such w 2>/dev/null; hostexec session exec w -- '[ "$PWD" = "$HOME" ] && echo home'; hostexec session rm w`, "home\n", "", 0},
	{"F002-041", `x 'kill -KILL $$'`, "", "shell terminated unexpectedly (exit code: 137)", 125},
	{"F002-049 start", `hostexec session start --cwd /no/such s -- 'echo ran'`, "", "Failed to change directory to /no/such", 1},
	{"F002-050", `x 'cd /tmp'; x 'echo ran' --cwd /no/such 2>/dev/null; hostexec session start --cwd /no/such s -- 'echo ran' 2>/dev/null; x pwd; x 'cd - >/dev/null'`, "/tmp\n", "", 0},
	{"F002-070 rm", `hostexec session rm s; hostexec session rm s; x 'echo'`, "", "not ready", 125},
	{"no second door", `hostexec shell 'echo ran'; hostexec -- shell 'echo ran'; hostexec session exec`, "", "not a command", 125},
}

// TestIntegrationShells types them, into a shell on the host and one in a container.
func TestIntegrationShells(t *testing.T) {
	forEachShellBackend(t, func(t *testing.T, g shellBackend) {
		ran := len(g.Host.Audit(t, " START ", "echo ran"))
		for _, tt := range shellRows {
			r := g.x(t, tt.script)
			if r.Out != tt.out || r.Code != tt.code || !strings.Contains(r.Err, tt.err) || tt.err == "" && r.Err != "" {
				t.Errorf("%s: %v\nwant code %d, stdout %q, stderr with %q", tt.row, r, tt.code, tt.out, tt.err)
			}
		}
		if n := len(g.Host.Audit(t, " START ", "echo ran")) - ran; n != 4 { // those of F002-049 and F002-050
			t.Errorf("%d commands that were refused are in the audit log as started", n-4)
		}
	})
}
