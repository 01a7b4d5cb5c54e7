// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// learned returns the rules of approved calls.
func learned(t *testing.T, calls ...[]string) []policy.Learned {
	t.Helper()
	asks := &policy.Policy{}
	var all []policy.Candidate
	for _, args := range calls {
		asks.Commands = []policy.Command{{Name: args[0], Action: policy.Ask, Path: "/opt/" + args[0]}}
		c, asked, why := asks.Learnable(args, []string{"read"})
		if !asked || why != "" {
			t.Fatalf("Learnable(%q) = %v, %q", args, asked, why)
		}
		c.Times = 1
		all = append(all, c)
	}
	return policy.Learn(all, policy.Denials{Calls: [][]string{{"deploy", "never", "this"}}})
}

// written adds rules to a file with text, and returns the configuration afterwards.
func written(t *testing.T, text string, rules []policy.Learned) (Source, *Config) {
	t.Helper()
	src := Source{Store: t.TempDir()}
	if err := os.WriteFile(src.GlobalFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := AddLearned(src.GlobalFile(), rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	return src, Load(src)
}

func TestAddLearned(t *testing.T) {
	rules := learned(t, []string{"deploy", "a", "x"}, []string{"deploy", "b", "x"}, []string{"other"})
	src, c := written(t, "# mine\nversion: 1\ncommands:\n  deploy:\n    timeout: 5s # short\n", rules)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	p := c.Policy([]policy.Command{{Name: "deploy", Action: policy.Ask}, {Name: "other", Action: policy.Ask}})
	for line, want := range map[string]policy.Action{"deploy a x": policy.Allow, "deploy b x": policy.Allow, "other": policy.Allow, "deploy c x": policy.Ask, "other x": policy.Ask} {
		if got := p.Decide(policy.Request{Args: strings.Fields(line)}).Action; got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	if found := Check(src); len(found) > 0 {
		t.Errorf("policy check finds %v", found)
	}
	again, err := AddLearned(src.GlobalFile(), rules)
	if err != nil || len(again.Added) > 0 || again.Diff() != "" {
		t.Errorf("added again: %d rules, %q, %v", len(again.Added), again.Diff(), err)
	}
	for _, l := range rules {
		if err := Remove(src.GlobalFile(), l.Rule.Title(l.Command)); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(src.GlobalFile())
	if want := "# mine\nversion: 1\ncommands:\n  deploy:\n    timeout: 5s # short\n"; err != nil || string(text) != want {
		t.Errorf("without the rules: %s, %v, want %s", text, err, want)
	}
}

func TestLearnedFileChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	c, err := AddLearned(file, learned(t, []string{"deploy", "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Diff(), "--- /dev/null\n+++ "+file+"\n@@ ") {
		t.Errorf("diff: %s", c.Diff())
	}
	if err := os.WriteFile(file, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); !errors.Is(err, ErrChanged) {
		t.Errorf("Write = %v, want %v", err, ErrChanged)
	}
}

func TestApprovedRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[{argv: [a]}]":                          "without id",
		"[{id: a}]":                              "no argv",
		"[{id: a, argv: [{path: ws}]}]":          "path and insert are not allowed in approved",
		"[{id: a, argv: [{insert: [b]}]}]":       "path and insert are not allowed in approved",
		"[{id: a, argv: [], do: allow}]":         "unknown key",
		"[{id: a, argv: [], stdin: pipe}]":       "unknown key",
		"[{id: a, argv: [], anywhere: true}]":    "unknown key",
		"[{id: a, argv: []}, {id: a, argv: []}]": "there is a rule a already",
	} {
		d := parse("config.yaml", []byte("version: 1\ncommands: {x: {approved: "+text+"}}\n"), global)
		if len(d.problems) == 0 || !strings.Contains(d.problems[0].Text, want) {
			t.Errorf("approved: %s: %v, want %q", text, d.problems, want)
		}
	}
	d := parse(".hostexec.yaml", []byte("version: 1\ncommands: {x: {approved: [{id: a, argv: []}]}}\n"), workspace)
	if len(d.problems) == 0 {
		t.Error("a workspace proposes approved calls")
	}
}

// hostile has texts that mean something to YAML, to shells or to patterns.
var hostile = []string{
	"", " ", "#", " # x", "a: b", "- x", "[", "]", "{", "}", "*", "*.go", "[a-z]", "&a", "!x", "|", ">", "%", "@", "`", `"`, `\`, `\n`, "'", "null", "~", "true",
	"1", "0x10", "---", "...", "? x", "<<", ",", "\\\"", "${HOME}", "$$", "yes", `" # do: allow`, `", do: allow, argv: ["`, "a  b", strings.Repeat("long words ", 40),
}

// TestLearnedRoundTrip checks that written rules are parsed unchanged, whatever the texts of the approved calls. They
// allow no similar call.
func TestLearnedRoundTrip(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	text := func() string {
		if r.Intn(2) == 0 {
			return hostile[r.Intn(len(hostile))]
		}
		b := make([]byte, r.Intn(12))
		for i := range b {
			b[i] = byte(' ' + r.Intn('~'-' '+1))
		}
		return string(b)
	}
	for range 300 {
		var calls [][]string
		for range 1 + r.Intn(6) {
			call := []string{"deploy"}
			for range r.Intn(4) {
				if arg := text(); arg != "-" && !strings.HasSuffix(arg, "=-") {
					call = append(call, arg)
				}
			}
			calls = append(calls, call)
		}
		checkRoundTrip(t, calls)
	}
}

func checkRoundTrip(t *testing.T, calls [][]string) {
	t.Helper()
	rules := learned(t, calls...)
	src := Source{Store: "/nonexistent"}
	draft, err := AddLearned(src.GlobalFile(), rules)
	if err != nil {
		t.Fatalf("%q: %v", calls, err)
	}
	src.Draft = draft
	c := Load(src)
	if c.Err != nil {
		t.Fatalf("%q: %v", calls, c.Err)
	}
	got := c.rules["deploy"].Approved
	if len(c.rules) != 1 || len(got) != len(rules) || len(c.rules["deploy"].Rules) > 0 {
		t.Fatalf("%q: %d rules, want %d", calls, len(got), len(rules))
	}
	p := c.Policy([]policy.Command{{Name: "deploy", Action: policy.Ask}})
	allows := func(args []string) bool { return p.Decide(policy.Request{Args: args}).Action == policy.Allow }
	for _, call := range calls {
		if !allows(call) {
			t.Fatalf("%q is not allowed", call)
		}
		for i := 1; i < len(call); i++ {
			other := slices.Clone(call)
			other[i] += "x"
			same := func(call []string) bool { return slices.Equal(call, other) }
			if allows(other) && !slices.ContainsFunc(calls, same) {
				t.Fatalf("%q allows %q", calls, other)
			}
		}
	}
}

func FuzzLearnedRoundTrip(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		call := []string{"deploy", a, b}
		asks := &policy.Policy{Commands: []policy.Command{{Name: "deploy", Action: policy.Ask, Path: "/opt/deploy"}}}
		if _, asked, why := asks.Learnable(call, []string{"read"}); !asked || why != "" {
			return
		}
		checkRoundTrip(t, [][]string{call})
	})
}
