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
		w := &decidedCall{state: &SessionState{}, env: []string{"PATH=/bin", "PWD=/home/u/app", "HOME=/home/u"}}
		w.v.Args, w.v.Env.Set = []string{"make"}, map[string]string{"A": "1", "B": "2"}
		req := &request{}
		req.Args = w.v.Args
		if do != nil {
			do(w, req)
		}
		return w.setup(req)
	}
	first := of(nil)
	for name, do := range map[string]change{
		"terminal and directory": func(w *decidedCall, _ *request) {
			w.env = []string{"HOME=/home/u", "PWD=/home/u/other", "PATH=/bin", "TERM=xterm", "TMUX_PANE=%3"}
		},
		"config file": func(w *decidedCall, _ *request) { w.v.Command.Where = "/home/u/app/.hostexec.yaml:3" },
		"steps":       func(w *decidedCall, _ *request) { w.v.Steps = 9 },
	} {
		if got := of(do); got != first || got == "" {
			t.Errorf("another %s: %q, want %q", name, got, first)
		}
	}
	for name, do := range map[string]change{
		"variable":      func(w *decidedCall, _ *request) { w.env = append(w.env, "AWS_PROFILE=prod") },
		"home":          func(w *decidedCall, _ *request) { w.env[2] = "HOME=/home/v" },
		"place":         func(w *decidedCall, _ *request) { w.v.Place.Network = "host" },
		"sandbox":       func(w *decidedCall, _ *request) { w.v.Sandbox.Net.All = true },
		"time limit":    func(w *decidedCall, _ *request) { w.v.Timeout = time.Minute },
		"privileges":    func(w *decidedCall, _ *request) { w.v.NewPrivs = true },
		"session's":     func(w *decidedCall, _ *request) { w.state.NewPrivs = true },
		"stdin":         func(w *decidedCall, _ *request) { w.v.Streams.Stdin.Mode = policy.StdinPipe },
		"set variables": func(w *decidedCall, _ *request) { w.v.Env.Set = map[string]string{"A": "2", "B": "2"} },
		"copies":        func(w *decidedCall, _ *request) { w.v.Paths = []policy.PathCheck{{Index: 1}} },
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
