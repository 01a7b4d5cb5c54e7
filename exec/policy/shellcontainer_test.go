// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"testing"
)

// TestShellInContainer checks shells in other containers: only an entry that names the container permits
// them.
func TestShellInContainer(t *testing.T) {
	word := func(w ...string) Element {
		if len(w) > 1 {
			return Element{Kind: KindAny, Words: w}
		}
		return Element{Kind: KindWord, Words: w}
	}
	compiled, err := ParseArgPattern(".*", true)
	if err != nil {
		t.Fatal(err)
	}
	anything := Element{Kind: KindArgs, Pattern: compiled, Max: -1}
	rules := func(rr ...Rule) map[string]Ruleset {
		for i := range rr {
			rr[i].Accept = true
			if err := rr[i].Compile(); err != nil {
				t.Fatal(err)
			}
		}
		return map[string]Ruleset{Shell: {Rules: rr}}
	}
	proxied := func(a Action) []Command {
		return []Command{{Name: Shell, Action: a, Explicit: a != Allow, Path: "/bin/bash"}}
	}
	list := []LinePattern{{Source: ".*", re: regexp.MustCompile(".*")}}
	in := []string{"web"}
	web, text := []string{"shell", "--in", "web", "id"}, []string{"shell", "id"}
	tests := []struct {
		name    string
		p       Policy
		args    []string
		want    Action
		reaches bool // whether the policy permits container web
	}{
		{"nothing", Policy{}, web, Deny, false},
		{"--proxy-shell", Policy{Commands: proxied(Allow)}, web, Deny, false},
		{"--proxy-shell=ask", Policy{Commands: proxied(Ask)}, web, Deny, false},
		{"named by --proxy-shell", Policy{Commands: proxied(Allow), ShellContainers: in}, web, Allow, true},
		{"named, asked", Policy{Commands: proxied(Ask), ShellContainers: in}, web, Ask, true},
		{"named, denied", Policy{Commands: proxied(Deny), ShellContainers: in}, web, Deny, false},
		{"another is named", Policy{Commands: proxied(Allow), ShellContainers: []string{"db", "we", "web2"}}, web, Deny, false},
		{"named without --proxy-shell", Policy{ShellContainers: in}, web, Deny, false},
		{"broken", Policy{Broken: "x", Commands: proxied(Allow), ShellContainers: in}, web, Deny, false},
		{"a list", Policy{Auto: list}, web, Deny, false},
		{"a list over --proxy-shell", Policy{Auto: list, Commands: proxied(Allow)}, web, Deny, false},
		{"a rule for anything", Policy{Rules: rules(Rule{ID: "r", Do: Allow, Argv: []Element{anything}})}, web, Deny, false},
		{"a rule that is always right", Policy{Rules: rules(Rule{ID: "r", Do: Allow, AnyArgs: true, Fixed: []string{"id"}})}, web, Deny, false},
		{"a rule for any container", Policy{Rules: rules(Rule{ID: "r", Do: Allow, Argv: []Element{word("--in"), anything}})}, web, Deny, false},
		{"a rule", Policy{Rules: rules(Rule{ID: "r", Do: Allow, Argv: []Element{word("--in"), word("web"), word("id")}})}, web, Allow, true},
		{"a rule for some", Policy{Rules: rules(Rule{ID: "r", Do: Ask, Argv: []Element{word("--in"), word("db", "web"), anything}})}, web, Ask, true},
		{"a rule for another", Policy{Rules: rules(Rule{ID: "r", Do: Allow, Argv: []Element{word("--in"), word("db"), anything}})}, web, Deny, false},
		{"a denial of anything", Policy{Commands: proxied(Allow), ShellContainers: in, Rules: rules(Rule{ID: "r", Do: Deny, Argv: []Element{anything}})}, web, Deny, true},
		{"the host, named or not", Policy{Commands: proxied(Allow), ShellContainers: in}, text, Allow, true},
		{"a text that looks like one", Policy{Commands: proxied(Allow)}, []string{"shell", "--in"}, Allow, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if v := tt.p.Decide(Request{Args: tt.args}); v.Action != tt.want {
				t.Errorf("Decide(%q) = %v (%s, %s), want %v", tt.args, v.Action, v.Rule, v.Reason, tt.want)
			}
			if got := tt.p.PermitsShellIn("web"); got != tt.reaches {
				t.Errorf("Reaches(web) = %v, want %v", got, tt.reaches)
			}
			v, results := tt.p.Explain(Request{Args: tt.args})
			for _, result := range results {
				unexplained := v.Action == Deny && result.Why == "" && result.Name != "--proxy shell=deny"
				if result.Decides && (result.Action != v.Action || unexplained) {
					t.Errorf("%s decides %v: %q, want %v and why it is denied", result.Name, result.Action, result.Why, v.Action)
				}
			}
		})
	}
}
