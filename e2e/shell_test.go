// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shellRows are what a container types, one after the other, and what it then reads. Each
// is called by the rows of source 002 that it holds.
var shellRows = []struct {
	row, script string
	out, err    string // err is a part of stderr
	code        int
}{
	{"F002-070 not ready", `x 'echo'`, "", "not ready", 125},
	{"F002-063 create", `hostexec session create --env A-b=1 s`, "", "Invalid environment variable name: A-b", 2},
	{"F002-058", `hostexec session create --env 'A=a b' s`, "", "", 0},
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
	{"F002-070 rm", `hostexec session rm s; hostexec session rm s; x 'echo'`, "", "not ready", 125},
	{"no second door", `hostexec shell 'echo ran'; hostexec -- shell 'echo ran'; hostexec session exec`, "", "not a command", 125},
}

// TestIntegrationShells types them.
func TestIntegrationShells(t *testing.T) {
	needBash(t)
	for _, h := range people(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy-shell")
			for _, tt := range shellRows {
				r := c.Sh(t, `x() { t=$1; shift; hostexec session exec s "$@" -- "$t"; }; `+tt.script)
				if r.Out != tt.out || r.Code != tt.code || !strings.Contains(r.Err, tt.err) || tt.err == "" && r.Err != "" {
					t.Errorf("%s: %v\nwant code %d, stdout %q, stderr with %q", tt.row, r, tt.code, tt.out, tt.err)
				}
			}
			if n := len(h.Audit(t, " START ", "echo ran")); n != 1 { // F002-049's
				t.Errorf("%d commands that were refused are in the audit log as started", n-1)
			}
		})
	}
}

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal("shells with state are bash, which this host has not")
	}
}

// TestIntegrationShellJSON is F002-060 and F002-071.
func TestIntegrationShellJSON(t *testing.T) {
	c := people(t)[0].Holding(t, "--proxy-shell")
	c.Sh(t, `hostexec session create s`)
	r := c.Sh(t, `hostexec session exec --json s -- 'echo "é"; echo e >&2; (exit 3)'`)
	var got struct {
		Command, Stdout, Stderr string
		ExitCode                int `json:"exit_code"`
		Duration                float64
		Timestamp               time.Time
	}
	check(t, json.Unmarshal([]byte(r.Out), &got))
	want(t, "command", got.Command, `echo "é"; echo e >&2; (exit 3)`)
	want(t, "output", got.Stdout+got.Stderr, "é\ne\n")
	want(t, "exit code", got.ExitCode*10+r.Code, 33)
	if got.Duration <= 0 || time.Since(got.Timestamp) > time.Hour {
		t.Errorf("it took %v, at %v", got.Duration, got.Timestamp)
	}
	r = c.Sh(t, `hostexec session start --json s -- 'echo one; echo two >&2; exit 5'`)
	var order []string
	for _, line := range strings.Split(strings.TrimSpace(r.Out), "\n") {
		var e struct{ Type string }
		check(t, json.Unmarshal([]byte(line), &e))
		order = append(order, e.Type)
	}
	if len(order) == 4 {
		slices.Sort(order[1:3]) // the two streams have no order
	}
	want(t, "events", strings.Join(order, " "), "start stderr stdout complete")
	want(t, "code", r.Code, 5)
}

// TestIntegrationShellPolicy has shells refused, asked about, and allowed by a rule.
func TestIntegrationShellPolicy(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "true")
	r := c.Sh(t, `hostexec session create s`)
	want(t, "unasked for", r.Code, 127)
	if !strings.Contains(r.Err, "--proxy-shell") {
		t.Errorf("the refusal does not say how to allow shells: %v", r)
	}
	h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  shell:\n    rules:\n      - {id: t, do: allow, accept: host-code-execution, argv: [{any: ['echo ruled', 'X=1', 'echo $X']}]}\n", 0o600)
	want(t, "created", c.Sh(t, `hostexec session create s`).Code, 0)
	r = c.Sh(t, `hostexec session exec s -- 'echo ruled'; hostexec session exec s -- 'X=1'; hostexec session exec s -- 'echo $X'`)
	want(t, "allowed by rule", r.Out, "ruled\n1\n")
	for _, script := range []string{`'echo other'`, `'echo ruled;id'`, `'echo ruled '`} {
		want(t, script, c.Sh(t, `hostexec session exec s -- `+script).Code, 126)
	}
	want(t, "with a variable", c.Sh(t, `hostexec session exec --env PATH=/w s -- 'echo ruled'`).Code, 126)
	want(t, "created with a variable", c.Sh(t, `hostexec session create --env PATH=/w p; hostexec session exec p -- 'echo ruled'`).Code, 126)
	want(t, "called", c.Sh(t, `hostexec shell 'echo ruled'`).Code, 127)
	want(t, "in the background", c.Sh(t, `hostexec session start s -- 'echo ruled'`).Out, "ruled\n")
}

// TestIntegrationShellAsk has a person approve one text, and another one denied.
func TestIntegrationShellAsk(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy-shell=ask")
	c.Sh(t, `hostexec session create s`)
	for _, tt := range []struct {
		verb string
		code int
	}{{"approve", 0}, {"deny", 126}} {
		done := make(chan Result, 1)
		// ends when the question is answered.
		go func() { done <- c.Sh(t, `hostexec session exec s -- 'echo asked `+tt.verb+`'`) }()
		var id string
		eventually(t, patience, "the question is there", func() bool {
			id = strings.TrimSpace(h.Docker(t, "hostexec", "pending", "-q").Out)
			return id != ""
		})
		h.Must(t, "hostexec", tt.verb, id)
		r := <-done
		want(t, tt.verb, r.Code, tt.code)
	}
	if len(h.Audit(t, " START ", "asked approve")) != 1 || len(h.Audit(t, " START ", "asked deny")) != 0 {
		t.Error("the audit log tells otherwise")
	}
}

// TestIntegrationShellEnds kills the watcher, and stops the session, over shells that run
// something: nothing is left.
func TestIntegrationShellEnds(t *testing.T) {
	for _, h := range people(t) {
		for _, how := range []string{"kill", "stop"} {
			t.Run(h.Name+"/"+how, func(t *testing.T) {
				c := h.Holding(t, "--proxy-shell")
				nap := "4711." + itoa(os.Getpid()) // nobody else's
				c.Sh(t, `for i in 1 2 3; do hostexec session create s$i; hostexec session exec s$i -- "sleep $1 & setsid sleep $1 & (setsid sleep $1 &)"; done`, nap)
				eventually(t, patience, "nine sleep", func() bool { return sleeping(nap) == 9 })
				if how == "stop" {
					h.Must(t, "hostexec", "stop", c.ID)
				} else {
					h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
				}
				h.Docker(t, "rm", "-f", c.ID)
				eventually(t, patience, "all have ended", func() bool { return sleeping(nap) == 0 })
				if how == "kill" {
					return // resume, or prune, finds the files
				}
				left, err := filepath.Glob(filepath.Join(h.State, "sessions", c.Session, "shells", "*"))
				check(t, err)
				want(t, "files", len(left), 0)
			})
		}
	}
}

// sleeping counts the processes that sleep for so long.
func sleeping(nap string) (n int) {
	for _, pid := range processes(nap) {
		if cmdline(pid) == "sleep "+nap {
			n++
		}
	}
	return n
}
