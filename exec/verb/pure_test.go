// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestCommandsOfBrokenPolicy checks that a broken configuration allows no command.
func TestCommandsOfBrokenPolicy(t *testing.T) {
	p := &policy.Policy{
		Commands: []policy.Command{{Name: "make", Action: policy.Allow}},
		Rules:    map[string]policy.Ruleset{"git": {Rules: []policy.Rule{{ID: "a", Do: policy.Allow}}}},
	}
	for _, tt := range []struct{ broken, make, git string }{{"", "allow", "rules"}, {"line 1", "deny", "deny"}} {
		p.Broken = tt.broken
		got := commands(p)
		if len(got) != 2 || got[0].Action != tt.make || got[1].Action != tt.git {
			t.Errorf("broken %q: ls shows %+v", tt.broken, got)
		}
	}
}

// TestEnvOption refuses --env without the name of a variable.
func TestEnvOption(t *testing.T) {
	for _, arg := range []string{"", "CI", "=x"} {
		f := newRunFlags()
		if err := f.Parse([]string{"--env", arg, "make"}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.options(); err == nil {
			t.Errorf("--env %q: no error", arg)
		}
	}
}
