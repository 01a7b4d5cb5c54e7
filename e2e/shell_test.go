// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal("shells with state are bash, which this host has not")
	}
}

// TestIntegrationShellPolicy checks shells that rules refuse, ask about, and allow.
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

// TestIntegrationShellAsk approves one text and denies another.
func TestIntegrationShellAsk(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	c := h.Holding(t, "--proxy-shell=ask")
	c.Sh(t, `hostexec session create s`)
	for _, tt := range []struct {
		verb string
		code int
	}{{"approve", 0}, {"deny", 126}} {
		done := make(chan Result)
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
