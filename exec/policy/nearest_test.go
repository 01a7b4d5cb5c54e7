// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestNearest checks which shape a refusal names, and that it names none where that would mislead. Each shape that it
// names is one that CallShapes shows.
func TestNearest(t *testing.T) {
	push := rule("push", Allow, w("push"), w("origin"), insert("--no-recurse-submodules"), re("agent/[a-z]+"))
	view := rule("view", Ask, w("pr"), w("view"), several("[0-9]+", 1, 1))
	noForce := rule("no-force", Deny, w("push"), w("--force"))
	for _, tt := range []struct {
		name  string
		rules []Rule
		line  string
		want  string
		asked bool
	}{
		{"another branch", []Rule{push}, "x push origin main", "x push origin /agent/[a-z]+/", false},
		{"another remote", []Rule{push, view}, "x push fork agent/a", "x push origin /agent/[a-z]+/", false},
		{"asked", []Rule{push, view}, "x pr view --web", "x pr view /[0-9]+/", true},
		{"nothing in common with the only shape", []Rule{push}, "x status", "x push origin /agent/[a-z]+/", false},
		{"nothing in common", []Rule{push, view, rule("t", Allow, w("test"))}, "x status", "", false},
		{"a typing error", []Rule{push, view, rule("t", Allow, w("test"))}, "x tests", "x test", false},
		{"no arguments", []Rule{push}, "x", "", false},
		{"one that denies", []Rule{noForce}, "x push -f", "", false},
		{"one that matches", []Rule{push}, "x push origin agent/a", "", false},
		{"two that are as near", []Rule{rule("a", Allow, w("run"), w("a")), rule("b", Allow, w("run"), w("b"))}, "x run c", "x run a, or x run b", false},
		{"three that are as near", []Rule{rule("a", Allow, w("run"), w("a")), rule("b", Allow, w("run"), w("b")), rule("c", Allow, w("run"), w("c"))}, "x run d", "", false},
		{"one that is always denied", []Rule{rule("a", Allow, w("run"), w("a")), rule("d", Deny, w("run"), w("a"))}, "x run c", "", false},
		{"the longest", []Rule{push, rule("tag", Allow, w("push"), w("tag"))}, "x push origin main", "x push origin /agent/[a-z]+/", false},
		{"a long shape", []Rule{rule("long", Allow, w("push"), w(strings.Repeat("a", maxNearest)))}, "x push b", "", false},
		{"control characters", []Rule{rule("esc", Allow, w("push"), w("\x1b[2J"))}, "x push b", `x push $'\033[2J'`, false},
		{"another command", []Rule{push}, "y push origin main", "", false},
	} {
		p := &Policy{Rules: rules(tt.rules...)}
		got, asked := p.Nearest(Request{Args: strings.Fields(tt.line), GitDirReadOnly: true})
		if got != tt.want || asked != tt.asked {
			t.Errorf("%s: Nearest(%q) = %q, asked %v, want %q, %v", tt.name, tt.line, got, asked, tt.want, tt.asked)
		}
		f := p.CallShapes("x")
		for shape := range strings.SplitSeq(got, ", or ") {
			if got != "" && !slices.Contains(append(f.Allowed, f.Asked...), strings.TrimPrefix(shape, "x ")) {
				t.Errorf("%s: %q is not one of %q", tt.name, shape, f)
			}
		}
	}
}

func TestNearestNot(t *testing.T) {
	set := rules(rule("a", Allow, w("run"), w("a")))
	for name, p := range map[string]*Policy{
		"broken":   {Broken: "x", Rules: set},
		"explicit": {Rules: set, Commands: []Command{{Name: "x", Action: Deny, Explicit: true}}},
	} {
		if got, _ := p.Nearest(Request{Args: []string{"x", "run", "b"}}); got != "" {
			t.Errorf("%s: Nearest = %q, want none", name, got)
		}
	}
}

func TestCallShapes(t *testing.T) {
	all := rules(
		rule("a", Allow, w("run"), insert("--host-only"), w("a")), rule("b", Ask, w("run"), flags("-n")),
		Rule{ID: "c", Do: Deny, AnyArgs: true, ready: true},
	)
	fixed := Rule{ID: "f", Do: Allow, AnyArgs: true, Fixed: []string{"--token", "secret"}, Effects: []string{"read"}, ready: true}
	makeTest := rule("t", Allow, w("test"))
	for _, tt := range []struct {
		name string
		p    *Policy
		of   string
		want CallShapes
	}{
		{"rules", &Policy{Rules: all}, "x", CallShapes{[]string{"run a"}, []string{"run [-n]"}, []string{AnyArguments}}},
		{"the host's arguments", &Policy{Rules: rules(fixed)}, "x", CallShapes{[]string{AnyArguments}, nil, nil}},
		{"plain", &Policy{Commands: []Command{{Name: "x", Action: Allow}}}, "x", CallShapes{[]string{AnyArguments}, nil, nil}},
		{"=ask", &Policy{Commands: []Command{{Name: "x", Action: Ask, Explicit: true}}, Rules: all}, "x", CallShapes{nil, []string{AnyArguments}, []string{AnyArguments}}},
		{"code", &Policy{Rules: map[string]Ruleset{"make": {Rules: []Rule{makeTest}}}}, "make", CallShapes{nil, []string{"test"}, nil}},
		{"code in a sandbox", &Policy{Rules: map[string]Ruleset{"make": {Rules: []Rule{makeTest}, Place: Place{Sandboxed: true}}}}, "make", CallShapes{[]string{"test"}, nil, nil}},
		{"git-push", &Policy{Commands: []Command{{Name: GitPush, Action: Allow}}}, GitPush, CallShapes{[]string{"fetch REMOTE"}, []string{"push REMOTE BRANCH", "remote REMOTE URL"}, nil}},
		{"git-push=allow", &Policy{Commands: []Command{{Name: GitPush, Action: Allow, Explicit: true}}}, GitPush, CallShapes{[]string{"fetch REMOTE", "push REMOTE BRANCH"}, []string{"remote REMOTE URL"}, nil}},
		{"git-push=ask", &Policy{Commands: []Command{{Name: GitPush, Action: Ask}}}, GitPush, CallShapes{nil, []string{"fetch REMOTE", "push REMOTE BRANCH", "remote REMOTE URL"}, nil}},
		{"git-push=deny", &Policy{Commands: []Command{{Name: GitPush}}}, GitPush, CallShapes{nil, nil, []string{AnyArguments}}},
		{"broken", &Policy{Broken: "x", Rules: all}, "x", CallShapes{nil, nil, []string{AnyArguments}}},
		{"unknown", &Policy{Rules: all}, "y", CallShapes{}},
	} {
		got := tt.p.CallShapes(tt.of)
		if !slices.Equal(got.Allowed, tt.want.Allowed) || !slices.Equal(got.Asked, tt.want.Asked) || !slices.Equal(got.Denied, tt.want.Denied) {
			t.Errorf("%s: CallShapes = %+v, want %+v", tt.name, got, tt.want)
		}
		if got.Allowed == nil || got.Asked == nil || got.Denied == nil {
			t.Errorf("%s: %+v has a list that is null in JSON", tt.name, got)
		}
	}
}
