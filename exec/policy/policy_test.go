// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

// Attack 53.
func TestDecide(t *testing.T) {
	p := &Policy{Commands: []Command{
		{Name: "make", Action: Allow, Path: "/usr/bin/make"},
		{Name: "git", Action: Ask, Path: "/usr/bin/git"},
		{Name: "rm", Action: Deny, Path: "/bin/rm"},
		{Name: "unset", Path: "/bin/true"},
	}}
	for _, tt := range []struct {
		name  string
		args  []string
		want  Action
		rule  string
		known bool
	}{
		{"allowed", []string{"make", "test"}, Allow, "--proxy make", true},
		{"asked", []string{"git", "push"}, Ask, "--proxy git=ask", true},
		{"denied", []string{"rm", "-rf", "/"}, Deny, "--proxy rm=deny", true},
		{"unset action denies", []string{"unset"}, Deny, "--proxy unset=deny", true},
		{"not proxied", []string{"sh", "-c", "make"}, Deny, "", false},
		{"empty argv", nil, Deny, "", false},
		{"empty name", []string{""}, Deny, "", false},
		{"path", []string{"/usr/bin/make"}, Deny, "", false},
		{"relative path", []string{"./make"}, Deny, "", false},
		{"case", []string{"MAKE"}, Deny, "", false},
		{"trailing space", []string{"make "}, Deny, "", false},
		{"trailing newline", []string{"make\n"}, Deny, "", false},
		{"option", []string{"-make"}, Deny, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.Decide(Request{Args: tt.args})
			if got.Action != tt.want || got.Rule != tt.rule || got.Known() != tt.known {
				t.Errorf("Decide(%q) = %v by %q, known %v, want %v by %q, known %v",
					tt.args, got.Action, got.Rule, got.Known(), tt.want, tt.rule, tt.known)
			}
			if got.Action == Deny && got.Reason == "" {
				t.Errorf("Decide(%q) denies without a reason", tt.args)
			}
		})
	}
}

// TestKeep checks whose jobs may outlive the container. --proxy controls this if it decides, and
// the rule if a rule decides.
func TestKeep(t *testing.T) {
	yes := true
	keeps, plain := rule("keeps", Allow, w("a")), rule("plain", Allow, w("b"))
	keeps.Settings.Keep, keeps.Accept, plain.Accept = &yes, true, true
	p := &Policy{
		Commands: []Command{{Name: "x", Action: Allow, Path: "/usr/bin/x", Keep: true}, {Name: "y", Action: Allow, Path: "/y", Keep: true}, {Name: "z", Action: Allow, Path: "/z"}},
		Rules:    rules(keeps, plain),
	}
	for line, want := range map[string]bool{"x a": true, "x b": false, "y": true, "z": false} {
		if got := decide(p, strings.Fields(line)...); got.Action != Allow || got.Keep != want {
			t.Errorf("%s: %v, keep %v, want allow, %v", line, got.Action, got.Keep, want)
		}
	}
	p.Defaults.Keep = &yes
	if !decide(p, "z").Keep {
		t.Error("the defaults do not hold")
	}
}

func TestZeroPolicyDenies(t *testing.T) {
	var p Policy
	if v := p.Decide(Request{Args: []string{"make"}}); v.Action != Deny {
		t.Errorf("zero Policy: Decide = %v, want deny", v.Action)
	}
	if v := (Verdict{}); v.Action != Deny {
		t.Errorf("zero Verdict = %v, want deny", v.Action)
	}
}

// Attack 61.
func TestValidName(t *testing.T) {
	for s, want := range map[string]bool{
		"make": true, "g++": true, "python3.11": true, "docker-compose": true, "7z": true,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"": false, "-x": false, "../x": false, "a/b": false, ".x": false, "a b": false,
		"a\x00": false, "a\n": false, "é": false, "+x": false, "_": false,
	} {
		if got := ValidName(s); got != want {
			t.Errorf("ValidName(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestParseAction(t *testing.T) {
	for _, a := range []Action{Deny, Ask, Allow} {
		got, err := ParseAction(a.String())
		if got != a || err != nil {
			t.Errorf("ParseAction(%q) = %v, %v, want %v", a.String(), got, err, a)
		}
	}
	if got, err := ParseAction("bogus"); err == nil || got != Deny {
		t.Errorf("ParseAction(bogus) = %v, %v, want deny and an error", got, err)
	}
}

func TestAsks(t *testing.T) {
	rules := func(all ...Rule) map[string]Ruleset { return map[string]Ruleset{"git": {Rules: all}} }
	accepts := rule("build", Allow)
	accepts.Accept = true
	for _, tt := range []struct {
		name string
		p    Policy
		want bool
	}{
		{"nothing", Policy{}, false},
		{"allowed and denied", Policy{Commands: []Command{{Name: "make", Action: Allow}, {Name: "rm"}}}, false},
		{"proxied to ask", Policy{Commands: []Command{{Name: "make", Action: Allow}, {Name: "git", Action: Ask}}}, true},
		{"pushes", Policy{Commands: []Command{{Name: GitPush, Action: Allow}}}, true},
		{"pushes that are denied", Policy{Commands: []Command{{Name: GitPush}}}, false},
		{"a list", Policy{Manual: []LinePattern{{Source: "x"}}}, true},
		{"the other list", Policy{Auto: []LinePattern{{Source: "x"}}}, false},
		{"a rule", Policy{Rules: rules(rule("push", Ask, w("push")))}, true},
		{"a rule that denies, and one that accepts", Policy{Rules: rules(rule("push", Deny, w("push")), accepts)}, false},
		{"a rule that would allow, but for code", Policy{Rules: rules(rule("status", Allow, w("status")))}, true},
		{"broken", Policy{Broken: "x", Commands: []Command{{Name: "git", Action: Ask}}}, false},
	} {
		if got := tt.p.Asks(); got != tt.want {
			t.Errorf("%s: Asks = %v, want %v", tt.name, got, tt.want)
		}
	}
}
