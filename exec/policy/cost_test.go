// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hard returns a policy of 200 rules that need the maximum number of steps before they fail.
func hard() *Policy {
	var list []Rule
	for i := range 200 {
		list = append(list, rule(fmt.Sprintf("r%d", i), Allow,
			several("a{1,9}", 0, -1), flags("-a", "-b"), several("a{1,9}|-", 0, -1), opt("-n", "a{1,9}"), several("[a-b]{1,9}", 0, -1), w(fmt.Sprint("end", i))))
	}
	return &Policy{Rules: rules(list...), Auto: patterns("^x( a)*( a)*( a)*b$")}
}

// usual returns a policy of 200 typical rules.
func usual() *Policy {
	var list []Rule
	for i := range 200 {
		list = append(list, rule(fmt.Sprintf("r%d", i), Allow, w(fmt.Sprint("verb", i)), flags("-a", "--all"), opt("-n", "[0-9]{1,4}"), several("[a-z]{1,9}", 0, 3)))
	}
	return &Policy{Rules: rules(list...)}
}

// hostile returns argument lists at the limits of a call.
func hostile() map[string][]string {
	return map[string][]string{
		"100k arguments":   append([]string{"x"}, slices.Repeat([]string{"a"}, 100_000)...),
		"4096 arguments":   append([]string{"x"}, slices.Repeat([]string{"a"}, MaxArgs)...),
		"256 arguments":    append([]string{"x"}, slices.Repeat([]string{"a"}, 256)...),
		"256 options":      append([]string{"x"}, slices.Repeat([]string{"-a"}, 256)...),
		"options, values":  append([]string{"x"}, slices.Repeat([]string{"-n", "a"}, 2000)...),
		"2 MiB argument":   {"x", strings.Repeat("a", 2<<20)},
		"16 of 128 KiB":    append([]string{"x"}, slices.Repeat([]string{strings.Repeat("a", 128<<10)}, 16)...),
		"empty arguments":  append([]string{"x"}, slices.Repeat([]string{""}, 4096)...),
		"one that matches": {"x", "a", "-a", "end199"},
	}
}

// TestSteps checks that no request costs more than the limit, and that a request above it is
// denied.
//
// Attacks 70, 146.
func TestSteps(t *testing.T) {
	p := hard()
	for name, args := range hostile() {
		v := p.Decide(Request{Args: args})
		t.Logf("%-18s %6d steps: %s", name, v.Steps, v.Action)
		if v.Steps > maxSteps {
			t.Errorf("%s: %d steps, at most %d are allowed", name, v.Steps, maxSteps)
		}
		if want := name == "one that matches"; (v.Action == Allow) != want {
			t.Errorf("%s: %s: %s", name, v.Action, v.Reason)
		}
	}
	if v := usual().Decide(Request{Args: []string{"x", "verb199", "-n", "5", "--all", "abc"}}); v.Action != Allow || v.Steps > 1000 {
		t.Errorf("200 usual rules: %s in %d steps, want allow in 1000 at most", v.Action, v.Steps)
	}
}

func BenchmarkDecide(b *testing.B) {
	run := func(name string, p *Policy, args []string) {
		b.Run(name, func(b *testing.B) {
			var v Verdict
			for b.Loop() {
				v = p.Decide(Request{Args: args})
			}
			b.ReportMetric(float64(v.Steps), "steps")
		})
	}
	run("200 rules", usual(), []string{"x", "verb199", "-n", "5", "--all", "abc"})
	p := hard()
	for name, args := range hostile() {
		run(strings.ReplaceAll(name, " ", "_"), p, args)
	}
}

// FuzzMatch checks that no arguments make the matcher panic or loop. Equal requests get equal
// verdicts. Arguments that no rule matches are denied. Each argument of an allowed request is named
// by a rule.
//
// Attacks 57, 146.
func FuzzMatch(f *testing.F) {
	p := &Policy{Rules: rules(
		rule("a", Allow, w("log"), flags("-a", "--all"), opt("-n", "[0-9]{1,4}"), opt("--max", "[0-9]{1,4}"), several("[a-z][a-z/-]{0,9}", 0, 3)),
		rule("b", Ask, w("run"), w("--"), several("[ -~]{0,20}", 0, 3)),
		rule("c", Deny, w("log"), several("secret", 1, 1)),
	)}
	for _, s := range []string{"log\x00-a", "log\x00-n\x005\x00main", "log\x00--max=3", "run\x00--\x00-x", "log\x00secret", "log\x00-n\x00--all", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := append([]string{"x"}, strings.Split(s, "\x00")...)
		v, results := p.Explain(Request{Args: args})
		again := p.Decide(Request{Args: slices.Clone(args)})
		if v.Action != again.Action || v.Rule != again.Rule || v.Steps != again.Steps || !slices.Equal(v.Args, again.Args) {
			t.Errorf("%q: decided as %v, then as %v", args, v, again)
		}
		if v.Steps > maxSteps {
			t.Errorf("%q: %d steps", args, v.Steps)
		}
		matched := slices.ContainsFunc(results, func(t RuleResult) bool { return t.Matched })
		if !matched && v.Action != Deny {
			t.Errorf("%q: %s, and no rule matches", args, v.Action)
		}
		if v.Action != Allow {
			return
		}
		for _, a := range args[1:] {
			name, _, _ := strings.Cut(a, "=")
			if strings.HasPrefix(a, "-") && !slices.Contains([]string{"-a", "--all", "-n", "--max"}, name) || !ascii(a) {
				t.Errorf("%q: allowed, with %q", args, a)
			}
		}
	})
}
