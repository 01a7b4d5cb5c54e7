// SPDX-License-Identifier: Apache-2.0

package call

import (
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestSetup checks that commands that look the same have the same setup only if they also run in the same way.
func TestSetup(t *testing.T) {
	type change func(*decidedCall, *request)
	of := func(do change) string {
		dc := &decidedCall{config: &SessionConfig{}, env: []string{"PATH=/bin", "PWD=/home/u/app", "HOME=/home/u"}}
		dc.v.Args, dc.v.Env.Set = []string{"make"}, map[string]string{"A": "1", "B": "2"}
		req := &request{}
		req.Args = dc.v.Args
		if do != nil {
			do(dc, req)
		}
		return dc.setup(req)
	}
	first := of(nil)
	for name, do := range map[string]change{
		"terminal and directory": func(dc *decidedCall, _ *request) {
			dc.env = []string{"HOME=/home/u", "PWD=/home/u/other", "PATH=/bin", "TERM=xterm", "TMUX_PANE=%3"}
		},
		"config file": func(dc *decidedCall, _ *request) { dc.v.Command.Position = "/home/u/app/.hostexec.yaml:3" },
		"steps":       func(dc *decidedCall, _ *request) { dc.v.Steps = 9 },
	} {
		if got := of(do); got != first || got == "" {
			t.Errorf("another %s: %q, want %q", name, got, first)
		}
	}
	for name, do := range map[string]change{
		"variable":      func(dc *decidedCall, _ *request) { dc.env = append(dc.env, "AWS_PROFILE=prod") },
		"home":          func(dc *decidedCall, _ *request) { dc.env[2] = "HOME=/home/v" },
		"place":         func(dc *decidedCall, _ *request) { dc.v.Place.Network = "host" },
		"sandbox":       func(dc *decidedCall, _ *request) { dc.v.Sandbox.Net.All = true },
		"time limit":    func(dc *decidedCall, _ *request) { dc.v.Timeout = time.Minute },
		"privileges":    func(dc *decidedCall, _ *request) { dc.v.NewPrivs = true },
		"session's":     func(dc *decidedCall, _ *request) { dc.config.NewPrivs = true },
		"stdin":         func(dc *decidedCall, _ *request) { dc.v.Streams.Stdin.Mode = policy.StdinPipe },
		"set variables": func(dc *decidedCall, _ *request) { dc.v.Env.Set = map[string]string{"A": "2", "B": "2"} },
		"copies":        func(dc *decidedCall, _ *request) { dc.v.Paths = []policy.PathCheck{{Index: 1}} },
	} {
		if of(do) == first {
			t.Errorf("another %s: the same setup", name)
		}
	}
	for name, do := range map[string]change{
		"shell": func(_ *decidedCall, req *request) { req.shell = &shellCall{} },
		"push":  func(_ *decidedCall, req *request) { req.Args = []string{policy.GitPush} },
	} {
		if got := of(do); got != "" {
			t.Errorf("%s: %q, want none", name, got)
		}
	}
}
