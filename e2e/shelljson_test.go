// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestIntegrationShellJSON is F002-060 and F002-071.
func TestIntegrationShellJSON(t *testing.T) { forEachShellBackend(t, shellJSON) }

func shellJSON(t *testing.T, g shellBackend) {
	g.make(t)
	// In this order: a shell that a container has made is not started by the host.
	t.Run("the container", func(t *testing.T) {
		reported(t, func(verb, text string) Result {
			return g.Exec(t, "hostexec", "session", verb, "--json", "s", "--", text)
		})
	})
	t.Run("the host", func(t *testing.T) {
		reported(t, func(verb, text string) Result {
			return g.Host.Docker(t, "hostexec", "shell", verb, "--json", g.ID, "s", "--", text)
		})
	})
}

func reported(t *testing.T, run func(verb, text string) Result) {
	r := run("exec", `echo "é"; echo e >&2; (exit 3)`)
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
	r = run("start", `echo one; echo two >&2; exit 5`)
	var order []string
	for _, line := range strings.Split(strings.TrimSpace(r.Out), "\n") {
		var e struct{ Type string }
		check(t, json.Unmarshal([]byte(line), &e))
		order = append(order, e.Type)
	}
	if len(order) == 4 {
		slices.Sort(order[1:3]) // which of the two comes first is nowhere said
	}
	want(t, "events", strings.Join(order, " "), "start stderr stdout complete")
	want(t, "code", r.Code, 5)
}
