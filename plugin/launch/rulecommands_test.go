// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestRuleCommands(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	const text = `version: 1
commands:
  gh: {rules: [{id: a, do: allow, effects: [read], argv: [pr]}]}
  asks: {rules: [{id: a, do: ask, argv: [pr]}]}
  denied: {rules: [{id: a, do: deny, argv: [pr]}]}
  proxied: {rules: [{id: a, do: allow, effects: [read], argv: [pr]}]}
  absent: {rules: [{id: a, do: allow, effects: [read], argv: [pr]}]}
  placed: {exec: /opt/x, rules: [{id: a, do: allow, effects: [read], argv: [pr]}]}
  shell: {rules: [{id: a, do: ask, argv: [pr]}]}
`
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gh", "asks", "denied", "proxied", "shell"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Load(config.Source{Store: home})
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	p := &Plan{Config: c, Record: state.Session{Commands: []state.Command{{Name: "proxied", Action: "allow"}}}}
	if got, want := p.ruleCommands(bin), []string{"asks", "gh", "placed"}; !slices.Equal(got, want) {
		t.Errorf("ruled() = %q, want %q", got, want)
	}
}

func TestSearchDirs(t *testing.T) {
	got := searchDirs([]string{"PATH=/run/hostexec/bin:/opt/x::.:/usr/bin:/run/hostexec/rules"})
	want := []string{"/bin", "/opt/x", "/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin"}
	if !slices.Equal(got, want) {
		t.Errorf("searched() = %q, want %q", got, want)
	}
}
