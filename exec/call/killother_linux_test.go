// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/verb"
)

// leaves is a script that leaves a process running.
const leaves = "setsid sleep 1000 <&- >&- 2>&- & :"

// TestKillOfOthers checks that the container neither lists nor ends processes that the user's own
// programs have left, or that a rule leaves to the user.
//
// Attack 228.
func TestKillOfOthers(t *testing.T) {
	s, _ := calltest.NewServer(t)
	root, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	const notifies = "00aa000000000000"
	c := executor.Command{ID: notifies, Path: "/bin/sh", Args: []string{"sh", "-c", leaves}, Env: os.Environ(), Dir: int(root.Fd())}
	if _, err := s.Runner.Run(context.Background(), c, executor.Streams{FD: [3]int{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	sc := *s.Config()
	p := *sc.Policy
	p.Rules = map[string]policy.Ruleset{"sh": {Settings: policy.Settings{Leave: new(true)}}}
	sc.Policy = &p
	s.SetConfig(&sc)
	id := calltest.Background(t, s, "sh", "-c", leaves)
	calltest.Hostexec(t, s, "wait", id)
	if ps := calltest.Hostexec(t, s, "ps").Out.String(); strings.Contains(ps, verb.KindLeftover) {
		t.Errorf("ps says %q", ps)
	}
	for ref, want := range map[string]string{notifies: "no such job", notifies[:4]: "no such job", id: "it has ended"} {
		if c := calltest.Hostexec(t, s, "kill", ref); c.Exit.Code != 1 || !strings.Contains(c.Exit.Text, want) {
			t.Errorf("kill %s: %+v, want %q", ref, c.Exit, want)
		}
	}
	for _, id := range []string{notifies, id} {
		if !s.EndLeftovers(id) {
			t.Errorf("what %s left was ended", id)
		}
	}
}
