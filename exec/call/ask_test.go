// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"net"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestVerdictChanged changes the policy while a question waits. The question is asked again if an approval of the old
// one would run the command in another way than the new policy.
func TestVerdictChanged(t *testing.T) {
	rule := policy.Rule{ID: "all", Do: policy.Ask, AnyArgs: true}
	if err := rule.Compile(); err != nil {
		t.Fatal(err)
	}
	dirs, err := mount.NewTable(nil, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	defer dirs.Close()
	base := policy.Ruleset{
		Settings: policy.Settings{Env: &policy.Env{Set: map[string]string{"PATH": ":/usr/bin"}}}, // it is cleaned later
		Rules:    []policy.Rule{rule}, Place: policy.Place{Sandboxed: true}, Sandbox: policy.Sandbox{Write: []string{"/out"}}}
	for name, tt := range map[string]struct {
		change func(*policy.Ruleset)
		want   bool
	}{
		"nothing":                    {func(*policy.Ruleset) {}, false},
		"what a sandbox may write":   {func(s *policy.Ruleset) { s.Sandbox.Write = nil }, true},
		"the network":                {func(s *policy.Ruleset) { s.Sandbox.Net.All = true }, true},
		"the place":                  {func(s *policy.Ruleset) { s.Place = policy.Place{} }, true},
		"a variable":                 {func(s *policy.Ruleset) { s.Settings.Env = &policy.Env{Set: map[string]string{"A": "1"}} }, true},
		"words before the arguments": {func(s *policy.Ruleset) { s.Prepend = []string{"--no-x"} }, true},
		"the program":                {func(s *policy.Ruleset) { s.Exec = "/opt/make" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := base
			tt.change(&changed)
			commands := []policy.Command{{Name: "make", Action: policy.Allow, Path: "/usr/bin/make"}}
			before := &policy.Policy{Commands: commands, Rules: map[string]policy.Ruleset{"make": base}}
			after := &policy.Policy{Commands: commands, Rules: map[string]policy.Ruleset{"make": changed}}
			req := policy.Request{Args: []string{"make", "test"}}
			s := &Server{}
			s.SetConfig(&SessionConfig{Policy: before, Dirs: dirs})
			dc := &decidedCall{config: s.Config()}
			dc.decide(before, &request{Request: req})
			dc.config.cleanPath(&dc.v)
			dc.v.Args = []string{"make", "/copy/of/test"}
			x := asking{exchange: &exchange{server: s, req: &request{Request: req}}, dc: dc}
			s.SetConfig(&SessionConfig{Policy: after, Dirs: dirs})
			if got := x.verdictChanged(s.Config()); got != tt.want {
				t.Errorf("verdictChanged() = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestWaitNotice asks for a caller that has left, so that the question is withdrawn at once. The queue has changed by
// then, but the caller gets no notice that it waits.
func TestWaitNotice(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conn, other := net.Pipe()
	other.Close()
	defer conn.Close()
	s := &Server{Queue: &approval.Queue{WaitAlways: true}}
	req := &request{Request: policy.Request{ID: "1", Args: []string{"make"}}}
	x := asking{&exchange{server: s, req: req, peer: newPeer(conn)}, &decidedCall{server: s}}
	for i := range 200 { // either of two events may come first
		x.wait(ctx, approval.Question{ID: "1", Args: req.Args}, func() { t.Errorf("round %d: the question counts as asked", i) })
	}
}
