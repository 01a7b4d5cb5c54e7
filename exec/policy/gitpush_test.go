// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

// gitRule returns a rule of git-push for words and a pattern.
func gitRule(t *testing.T, id string, do Action, pattern string, words ...string) Rule {
	t.Helper()
	r := Rule{ID: id, Do: do}
	for _, w := range words {
		r.Argv = append(r.Argv, Element{Kind: KindWord, Words: []string{w}})
	}
	compiled, err := ParseArgPattern(pattern, false)
	if err != nil {
		t.Fatal(err)
	}
	r.Argv = append(r.Argv, Element{Kind: KindRegexp, Pattern: compiled})
	if err := r.Compile(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGitPush decides about pushes with and without rules. No rule and no list opens more than it names.
func TestGitPush(t *testing.T) {
	rules := []Rule{
		gitRule(t, "agent", Allow, "agent/.+", "push", "origin"),
		gitRule(t, "force", Ask, "agent/.+", "force", "origin"),
		gitRule(t, "never", Deny, "release/.*", "push", "origin"),
		gitRule(t, "tags", Allow, `v\d+`, "tag", "origin"),
	}
	all, err := ParseLinePattern("^git-push .*$")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args                            string
		plain, ask, allow, ruled, alone Action // --proxy git-push, =ask, =allow, with rules, rules alone
	}{
		{"fetch origin", Allow, Ask, Allow, Allow, Deny},
		{"push origin main", Ask, Ask, Allow, Ask, Deny},
		{"push origin agent/x", Ask, Ask, Allow, Allow, Allow},
		{"push origin agent/", Ask, Ask, Allow, Ask, Deny},
		{"push origin x/agent/x", Ask, Ask, Allow, Ask, Deny},
		{"push other agent/x", Ask, Ask, Allow, Ask, Deny},
		{"push origin release/1", Ask, Ask, Allow, Deny, Deny},
		{"force origin agent/x", Deny, Deny, Deny, Ask, Ask},
		{"force origin main", Deny, Deny, Deny, Deny, Deny},
		{"delete origin agent/x", Deny, Deny, Deny, Deny, Deny},
		{"tag origin v1", Deny, Deny, Deny, Allow, Allow},
		{"tag origin v1x", Deny, Deny, Deny, Deny, Deny},
		{"force-tag origin v1", Deny, Deny, Deny, Deny, Deny},
		{"delete-tag origin v1", Deny, Deny, Deny, Deny, Deny},
		{"remote fork https://github.com/me/fork", Ask, Ask, Ask, Ask, Deny},
		{"", Deny, Deny, Deny, Deny, Deny},
		{"anything", Deny, Deny, Deny, Deny, Deny},
	} {
		req := Request{Args: append([]string{GitPush}, strings.Fields(tt.args)...)}
		proxied := func(action Action, explicit bool, rules ...Rule) Action {
			p := &Policy{Auto: []LinePattern{all}, Rules: map[string]Ruleset{GitPush: {Rules: rules}}, Programs: map[string][]string{GitPush: {"git"}}}
			if action != Deny {
				p.Commands = []Command{{Name: GitPush, Action: action, Explicit: explicit, Path: "/usr/bin/git"}}
			}
			return p.Decide(req).Action
		}
		for name, pair := range map[string][2]Action{
			"--proxy git-push":          {proxied(Allow, false), tt.plain},
			"--proxy git-push=ask":      {proxied(Ask, true), tt.ask},
			"--proxy git-push=allow":    {proxied(Allow, true), tt.allow},
			"--proxy git-push, rules":   {proxied(Allow, false, rules...), tt.ruled},
			"rules without --proxy":     {proxied(Deny, false, rules...), tt.alone},
			"a list without --proxy":    {proxied(Deny, false), Deny},
			"a broken configuration":    {(&Policy{Broken: "x", Commands: []Command{{Name: GitPush, Action: Allow}}}).Decide(req).Action, Deny},
			"--proxy git-push=deny":     {(&Policy{Commands: []Command{{Name: GitPush, Action: Deny, Explicit: true}}}).Decide(req).Action, Deny},
			"--proxy git, not git-push": {(&Policy{Commands: []Command{{Name: "git", Action: Allow}}}).Decide(req).Action, Deny},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: git-push %s: %v, want %v", name, tt.args, pair[0], pair[1])
			}
		}
	}
}

// TestGitPushGrade checks that git-push gets no warning about code, because it reads no repository
// of the container.
func TestGitPushGrade(t *testing.T) {
	p := &Policy{Rules: map[string]Ruleset{GitPush: {Rules: []Rule{gitRule(t, "agent", Allow, "agent/[a-z/-]+", "push", "origin")}}}}
	if g := p.Grade(GitPush, "/usr/bin/git"); g != GradeNone {
		t.Errorf("the grade is %q", g)
	}
	for _, problem := range p.Lint() {
		if problem.Fatal || strings.Contains(problem.Text, "git runs what") {
			t.Errorf("check: %s", problem)
		}
	}
}
