// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestLinksAreResolved checks that a name that links to make is treated as make, in every source of
// commands, and that policy check reports it.
//
// Attack 216.
func TestLinksAreResolved(t *testing.T) {
	bin := t.TempDir()
	for name, target := range map[string]string{"mk": "between", "between": "sub/make", "show": "sub/uname", "here/mk2": "../sub/make"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(bin, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(bin, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"make", "uname"} {
		if err := os.WriteFile(filepath.Join(bin, "sub", name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("here", filepath.Join(bin, "linked")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	rule := "rules: [{id: r, do: allow, effects: [read], argv: [all]}]"
	src := home(t, map[string]string{"state/config.yaml": strings.NewReplacer("BIN", bin, "RULE", rule).Replace(`
approval: {manual_approve: ['^between .*$']}
commands:
  mk: {RULE}
  named: {exec: BIN/mk, RULE}
  named2: {exec: BIN/linked/mk2, RULE}
  show: {RULE}
  image: {where: 'container:img', exec: BIN/mk, RULE}
`)})
	c := Load(src)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	p := c.Policy([]policy.Command{{Name: "typed", Action: policy.Ask, Explicit: true, Path: bin + "/mk"}})
	for name, want := range map[string]policy.Action{"mk": policy.Ask, "named": policy.Ask, "named2": policy.Ask, "show": policy.Allow, "image": policy.Allow, "typed": policy.Ask, "between": policy.Ask} {
		v := p.Decide(policy.Request{Args: []string{name, "all"}})
		if v.Action != want || v.Grade.MayRunCode() != (want == policy.Ask) {
			t.Errorf("%s: %v, code %v, want %v; known as %q", name, v.Action, v.Grade.MayRunCode(), want, p.Programs[name])
		}
	}
	if got, want := p.Programs["mk"], []string{"mk", "between", "make"}; !slices.Equal(got, want) {
		t.Errorf("mk is known as %q, want %q", got, want)
	}
	found := 0
	for _, problem := range Check(src) {
		if strings.Contains(problem.Text, "so allow asks: write accept: host-code-execution") {
			found++
		}
	}
	if found != 3 {
		t.Errorf("check found %d rules that run code, want 3: %v", found, Check(src))
	}
}
