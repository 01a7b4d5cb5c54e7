// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

func TestPresets(t *testing.T) {
	all := Presets()
	if len(all) != 11 {
		t.Errorf("%d presets, want 11", len(all))
	}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			src := Source{Store: t.TempDir()}
			if err := p.Install(src.GlobalFile()); err != nil {
				t.Fatal(err)
			}
			c := Load(src)
			if c.Err != nil || len(c.Warnings) > 0 {
				t.Fatalf("%v, warnings %q", c.Err, c.Warnings)
			}
			for _, problem := range c.Policy(nil).Lint() {
				t.Errorf("lint: %s", problem)
			}
			for _, tested := range c.Policy(nil).RunTests() {
				if tested.Why != "" {
					t.Errorf("%s %s: %s", tested.Rule, policy.CommandLine(tested.Args), tested.Why)
				}
			}
			if p.Title == "" || p.Title[0] == '#' {
				t.Errorf("title %q", p.Title)
			}
		})
	}
}
